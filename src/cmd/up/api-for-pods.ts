/** Where pods of the cluster's real nodes find the API, though it is served to this machine alone. */
import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { thisMachine } from '#base/machine.ts'
import { isLoopback } from '#cmd/up/cluster-addresses.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { isOfCluster, type NodeNetwork } from '#network/node-network.ts'

/** Takes connections from nodes, pods and this machine, and from nobody else. Undefined where the API listens to more than this machine anyway. */
export function listenForPods(network: NodeNetwork, { listen, clusterCidr }: UpOptions) {
  if (!isLoopback(listen)) return undefined
  const ranges = [network.range, ...(network.rangeV6 === undefined ? [] : [network.rangeV6]), ...clusterCidr]
  const accepts = (cluster: ClusterView) => {
    const isPods = (address: string) => cluster.list(Pod).some(({ status }) => status?.podIPs?.some(({ ip }) => ip === address))
    return isOfCluster(ranges, () => thisMachine().addresses(), isPods)
  }
  return { host: network.address, accepts }
}
