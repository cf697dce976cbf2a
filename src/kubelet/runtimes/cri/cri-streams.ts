import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import type { RuntimeStreams } from '#kubelet/runtimes/runtime.ts'

/** Conversations with containers, served by the runtime at a URL of its own. */
export function criStreams(client: CriConnection, bareId: (id: string) => string): RuntimeStreams {
  return {
    async exec(containerId, command, options) {
      return (await client.call('exec', { containerId: bareId(containerId), cmd: [...command], ...options })).url
    },
    async attach(containerId, options) {
      return (await client.call('attach', { containerId: bareId(containerId), ...options })).url
    },
    async portForward(podSandboxId, ports) {
      return (await client.call('portForward', { podSandboxId, port: [...ports] })).url
    },
  }
}
