import type { Processes } from '#base/processes.ts'
import type { Machines } from '#cmd/cloud-controller-manager/machine-cloud/machines.ts'
import type { CloudRoutes } from '#controllers/cloud/cloud-provider.ts'
import { ipTool, type Route } from '#network/kernel/ip-tool.ts'

/** By which ours are told from others in the kernel's table; the agents of pod networks have 84. */
const protocol = 85
/** Where `up` itself leads to the same pods, its way is taken, and ours is there beside it. */
const ours = `proto ${protocol} metric 100`

/** Nodes send what they do not know to the machine that they are on; it leads it on. */
export function kernelRoutes(machines: Machines, processes: Processes, namespace?: string): CloudRoutes {
  const ip = ipTool(processes, namespace)
  return {
    async list() {
      const shown = await Promise.all(['-4', '-6'].map((flag) => ip.show<Route>(flag, 'route', 'show', 'proto', String(protocol))))
      const owners = new Map((await machines.all()).flatMap(({ name, addresses }) => addresses.map((address) => [address, name] as const)))
      return shown.flat().map(({ dst, gateway = '' }) => ({ name: dst, targetNode: owners.get(gateway) ?? '', destinationCidr: dst }))
    },
    async create(_cluster, _hint, { targetNode, targetNodeAddresses = [], destinationCidr }) {
      const isV6 = destinationCidr.includes(':')
      const gateway = targetNodeAddresses.find(({ type, address }) => type === 'InternalIP' && address.includes(':') === isV6)?.address
      if (gateway === undefined) throw new Error(`node ${targetNode} has no ${isV6 ? 'IPv6' : 'IPv4'} address`)
      await ip.change([`route replace ${destinationCidr} via ${gateway} ${ours}`])
    },
    async remove(_cluster, { destinationCidr }) {
      await ip.try([`route delete ${destinationCidr} ${ours}`])
    },
  }
}
