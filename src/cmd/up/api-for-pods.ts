/** Where pods of the cluster's real nodes find the API, though it is served to this machine alone. */
import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { isLoopback } from '#cmd/up/cluster-addresses.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { isOfCluster, layNodeNetwork, type NodeNetwork } from '#network/node-network.ts'

/** A network for the nodes on this machine; undefined where there can be none, and where the API listens to more than this machine anyway. */
export async function nodeNetworkFor(options: UpOptions, { files, logger }: ClusterSeams): Promise<NodeNetwork | undefined> {
  if (!isLoopback(options.listen) || thisMachine().platform !== 'linux' || !thisProcess.isRoot) return undefined
  try {
    await files.makeDirectory(options.dataDir)
    return await layNodeNetwork(options.dataDir, { files, processes: nodeProcesses })
  } catch (error) {
    logger.warn('pods will not reach the API: no network for it could be made on this machine', { error: String(error) })
    return undefined
  }
}

/** Takes connections from nodes, pods and this machine, and from nobody else. */
export function listenForPods(network: NodeNetwork, { clusterCidr }: UpOptions, running: () => RunningApiServer | undefined) {
  const hasAddress = (address: string) => {
    const pods = running()?.server.cluster.list(Pod) ?? []
    return pods.some(({ status }) => status?.podIPs?.some(({ ip }) => ip === address))
  }
  const accepts = isOfCluster([network.range, ...clusterCidr], () => thisMachine().addresses(), hasAddress)
  return { host: network.address, accepts }
}
