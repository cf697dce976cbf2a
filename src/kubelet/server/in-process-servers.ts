import type { HttpExchange } from '#base/http-server.ts'
import { localDriverName } from '#kubelet/csi/local-driver/local-driver-name.ts'
import { simulatedLocalDriver } from '#kubelet/csi/local-driver/simulated-local-driver.ts'
import type { SimulatedRuntime } from '#kubelet/runtimes/simulated/simulated-runtime.ts'
import { KubeletServer, type ServerParts } from '#kubelet/server/kubelet-server.ts'
import type { MachineFacts } from '#kubelet/stats/cadvisor-metrics.ts'
import { simulatedUsageSource } from '#kubelet/stats/simulated-usage-source.ts'
import { statsPaths } from '#kubelet/stats/stats-paths.ts'
import { callerOf } from '#wire/csi/csi-driver.ts'

export type InProcessServersOptions = Omit<ServerParts, 'runtime' | 'allPods'> & {
  /** Undefined for nodes that are not in this process. */
  runtimeOf(nodeName: string): SimulatedRuntime | undefined
  podsOn(nodeName: string): ReturnType<ServerParts['allPods']>
}

const simulatedMachine: MachineFacts = {
  ...{ cores: 0, memoryBytes: 0, machineId: '', bootId: '', systemUuid: '', version: '' },
  ...{ kernelVersion: 'simulated', osImage: 'Simulated' },
}

/** The HTTP interfaces of nodes in this process, for the API server in the same: no sockets, and nothing is kept for nodes nobody asks. */
export function inProcessServers(options: InProcessServersOptions): (nodeName: string) => ((exchange: HttpExchange) => void) | undefined {
  const { runtimeOf, podsOn, ...parts } = options
  const refuse = () => Promise.reject(new Error('the node has its caller in its own process'))
  return (nodeName) => {
    const runtime = runtimeOf(nodeName)
    if (runtime === undefined) return undefined
    const source = simulatedUsageSource(runtime, () => podsOn(nodeName), parts.clock)
    const server = new KubeletServer({
      morePaths: statsPaths({ nodeName, source, clock: parts.clock, machine: async () => simulatedMachine }),
      ...{ ...parts, runtime, nodeName, client: { create: refuse } },
      allPods: () => podsOn(nodeName),
      csi: {
        find: (driver) =>
          driver === localDriverName ? { caller: callerOf(simulatedLocalDriver({ nodeName, clock: parts.clock })) } : undefined,
      },
      access: { clientAuthorities: () => [], reviewsTokens: false, allowsAnonymous: false, allowsEverything: false },
    })
    return server.handleTrusted
  }
}
