import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import { type NetworkWorld, whyNoNetworkWorld } from '../support/network-world.ts'
import { type Harness, serviceProxyContract } from './service-proxy.ts'

serviceProxyContract('userspace', {
  skip: whyNoNetworkWorld(),
  abilities: { keepsSource: false, hasSourceRanges: true, hasIpv6: true, outlivesRestart: false },
  start,
})

async function start(world: NetworkWorld): Promise<Harness> {
  const program = join(import.meta.dirname, '..', 'support', 'userspace-proxy-program.ts')
  const child = spawn('ip', ['netns', 'exec', world.namespace('node'), process.execPath, program], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  const tell = async (service: V1Service, slices: V1EndpointSlice[], isGone = false) => {
    child.stdin.write(`${JSON.stringify({ service, slices, isGone })}\n`)
    await once(lines, 'line')
  }
  return {
    set: (service, slices) => tell(service, slices),
    remove: (service) => tell(service, [], true),
    restart: () => Promise.reject(new Error('its connections end with it')),
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}
