import { thisMachine, thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { chooseRuntime, type RuntimeChoice } from '#cmd/up/container-runtime.ts'
import { type UpOptions, upOptions } from '#cmd/up/options.ts'
import { layNodeNetwork, type NodeNetwork, removeNodeNetwork } from '#network/node-network.ts'
import type { IpipMode } from '#network/pod-network/ipip.ts'
import { type BackendType, defaultBackend, type NetConf, parseNetConf } from '#network/pod-network/net-conf.ts'

const calicoPool: readonly string[] = ['192.168.0.0/16']

export type NodeChoice = {
  runtime: RuntimeChoice
  /** What joins the nodes on this machine; undefined where it could not be made. */
  network: NodeNetwork | undefined
  podNetwork: NetConf['backend'] | 'cni'
  /** Of the ranges that nodes get. */
  maskSizes: Pick<UpOptions, 'nodeCidrMaskSizeIpv4' | 'nodeCidrMaskSizeIpv6'>
}

/** Which container runtime the real nodes use, and the networks of nodes and pods. */
export async function chooseNode(options: UpOptions, seams: ClusterSeams): Promise<NodeChoice> {
  const runtime = await chooseRuntime(options, seams)
  if (runtime.kind === 'docker' && options.nodes > 1) {
    throw new Error('--nodes: Docker runs the pods of one node of a machine; several need --runtime cri or embedded')
  }
  if (seams.machineNetwork !== undefined) refuseWithoutRoot(options)
  const conf = options.netConf === '' ? undefined : parseNetConf(await seams.files.readText(options.netConf))
  const podNetwork = options.podNetwork === 'cni' ? 'cni' : (conf?.backend ?? backendOf(options))
  const network = runtime.kind === 'none' ? undefined : await nodeNetworkFor(options, conf?.networks ?? rangesOf(options), seams)
  if (runtime.kind !== 'none' && network === undefined && options.nodes > 1) {
    throw new Error('--nodes: several nodes on one machine need root, and the programs ip and nsenter (iproute2, util-linux)')
  }
  return { runtime, network, podNetwork, maskSizes: maskSizesOf(options, conf) }
}

/** Said before anything is made: what the namespaces of a plain user have no room for. */
function refuseWithoutRoot({ nodes, apiWorkers, podNetwork }: UpOptions): void {
  if (nodes > 1) throw new Error('--nodes: several nodes on one machine need root (sudo); simulated ones can be added with --sim-nodes')
  if (apiWorkers > 1) throw new Error('--api-workers: the threads of the API server share a port of the machine, which needs root (sudo)')
  if (podNetwork === 'cni') throw new Error('--pod-network cni: network plugins of the machine need root (sudo)')
}

function maskSizesOf({ nodeCidrMaskSizeIpv4, nodeCidrMaskSizeIpv6 }: UpOptions, conf: NetConf | undefined): NodeChoice['maskSizes'] {
  if (conf === undefined) return { nodeCidrMaskSizeIpv4, nodeCidrMaskSizeIpv6 }
  return { nodeCidrMaskSizeIpv4: conf.subnetLengths.ipv4, nodeCidrMaskSizeIpv6: conf.subnetLengths.ipv6 }
}

/** A start that fails before there is any node leaves no bridge behind that was not there before. */
export async function undoNode(options: UpOptions, choosing: Promise<NodeChoice>, { files }: ClusterSeams): Promise<void> {
  const choice = await choosing.catch(() => undefined)
  if (choice?.network?.isNew) await removeNodeNetwork(options.dataDir, { files, processes: nodeProcesses })
}

/** kubenet leaves the ways between nodes to somebody else, such as the cloud. */
export const backendOf = ({ podNetwork, ipipMode }: UpOptions): NetConf['backend'] => ({
  ...defaultBackend(podNetwork === 'kubenet' ? 'none' : (podNetwork as BackendType)),
  ipipMode: ipipMode as IpipMode,
})

const isUsual = (clusterCidrs: readonly string[]): boolean => clusterCidrs.join() === upOptions.clusterCidr.default.join()

/** Calico's pool has another place than Flannel's network. */
function rangesOf({ podNetwork, clusterCidr }: UpOptions): readonly string[] {
  return podNetwork === 'bgp' && isUsual(clusterCidr) ? calicoPool : clusterCidr
}

async function nodeNetworkFor(
  options: UpOptions,
  clusterCidrs: readonly string[],
  { files, logger }: ClusterSeams,
): Promise<NodeNetwork | undefined> {
  if (thisMachine().platform !== 'linux' || !thisProcess.isRoot) return undefined
  const mayMove = isUsual(clusterCidrs) || clusterCidrs === calicoPool
  // The stage that opens the directory says why it cannot be written, and ends the start.
  const isWritable = await files.makeDirectory(options.dataDir).then(
    () => true,
    () => false,
  )
  if (!isWritable) return undefined
  try {
    const networkOptions = { clusterCidrs, mayMove, mayUseMachine: options.nodes === 1 }
    const network = await layNodeNetwork(options.dataDir, networkOptions, { files, processes: nodeProcesses })
    if (network.machineNodeOf !== undefined) {
      const effect = 'the node of this cluster gets a network namespace of its own; services are not reached from the machine by cluster IP'
      logger.info(`this machine is the node of ${network.machineNodeOf} already: ${effect}`)
    }
    return network
  } catch (error) {
    logger.warn('failed to make the API server reachable for pods', { error: String(error) })
    return undefined
  }
}
