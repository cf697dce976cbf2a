/** The pod network of one node: a bridge of its own, laid down where no other network is configured. */

import { join } from 'node:path'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import { familyOf } from '#base/ip-range.ts'
import type { Processes } from '#base/processes.ts'
import { podAnnotations } from '#network/cni/calico-ipam.ts'
import { ensureForwarding, removeForwarding } from '#network/forwarding.ts'
import { ipTool, type Link } from '#network/kernel/ip-tool.ts'
import { ensureMasquerade, removeMasquerade } from '#network/masquerade.ts'

export type BridgeNetwork = {
  name: string
  /** The interface on the node; at most 15 characters, and another one for each cluster on a machine. */
  bridge: string
  /** The node's ranges of addresses, one for each family. */
  podCidrs: readonly string[]
  /** The ranges of all nodes together: what goes there keeps its pod's address. Only the node's own where absent. */
  clusterCidrs?: readonly string[]
  /** The kernel's choice where absent. */
  mtu?: number
  /** `own`: our plugins, in one process for each pod; `stock`: the machine's, which are programs that start faster. */
  plugins?: 'own' | 'stock'
  /** No bridge: each pod on a link of its own, and a route to it. Only with our own plugins. */
  isRouted?: boolean
  /** Addresses come from the blocks of Calico's pools that are written down there, and not from the node's ranges. */
  calicoIpam?: { blocks: string; wanted: string }
  /** As the old kubenet did: the bridge takes all frames. */
  isPromiscuous?: boolean
  /** Where given out addresses are written down. */
  dataDirectory: string
}

const fileName = '10-typernetes.conflist'
/** What runtimes read as configuration of a network. */
const isConfiguration = (name: string): boolean => /\.(conf|conflist|json)$/.test(name)

type Seams = { files: Files; processes: Processes }

/** In the words of CNI: a bridge, addresses from a file, ports of the node handed on to pods, rates that pods ask for. */
export function bridgeConfiguration(network: BridgeNetwork, masqueradesEachPod = false): object {
  const { name, bridge, podCidrs, dataDirectory, mtu, isRouted = false, calicoIpam } = network
  const routes = podCidrs.map((cidr) => ({ dst: cidr.includes(':') ? '::/0' : '0.0.0.0/0' }))
  const bridged = {
    type: 'bridge',
    bridge,
    isGateway: true,
    ipMasq: masqueradesEachPod,
    // Where the kernel shows bridged packets to iptables, a pod that calls its own service is answered by no other way.
    hairpinMode: true,
  }
  const plugins = [
    {
      ...(isRouted ? { type: 'routed' } : bridged),
      ...defined({ mtu }),
      ipam:
        calicoIpam === undefined
          ? { type: 'host-local', ranges: podCidrs.map((subnet) => [{ subnet }]), routes, dataDir: dataDirectory }
          : { type: 'calico-ipam', ...calicoIpam, families: podCidrs.map(familyOf), routes, dataDir: dataDirectory },
    },
    { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    { type: 'bandwidth', capabilities: { bandwidth: true } },
  ]
  const capabilities = { portMappings: true, bandwidth: true, ...(calicoIpam === undefined ? {} : { [podAnnotations]: true }) }
  return { cniVersion: '1.0.0', name, plugins: network.plugins === 'own' ? [{ type: 'typernetes', capabilities, plugins }] : plugins }
}

/** Resolves false where another network is configured already, and leaves that one alone. */
export async function layBridgeNetwork(network: BridgeNetwork, configDirectory: string, { files, processes }: Seams): Promise<boolean> {
  await files.makeDirectory(configDirectory, { mode: 0o755 })
  const others = (await files.list(configDirectory)).filter((name) => isConfiguration(name) && name !== fileName)
  if (others.length > 0) return false
  const path = join(configDirectory, fileName)
  // One rule for all pods: the plugin's own, one chain for each pod, take a fifth of the time that a pod needs to start.
  const { podCidrs: from, clusterCidrs: except = from } = network
  const hasMasquerade = await ensureMasquerade({ from, except, comment: commentOf(network) }, processes)
  await ensureForwarding([...new Set([...except, ...from])], commentOf(network), processes)
  if (network.isPromiscuous) await layPromiscuousBridge(network.bridge, processes)
  const text = `${JSON.stringify(bridgeConfiguration(network, !hasMasquerade), null, 2)}\n`
  if ((await files.readTextIfPresent(path)) !== text) await files.write(path, text, { mode: 0o600 })
  return true
}

/** Plugins refuse to make both links that send back what came from them and a bridge that takes all frames; they use one that is there. */
async function layPromiscuousBridge(bridge: string, processes: Processes): Promise<void> {
  const ip = ipTool(processes)
  const links = await ip.show<Link>('link', 'show')
  const isThere = links.some(({ ifname }) => ifname === bridge)
  await ip.change([...(isThere ? [] : [`link add ${bridge} type bridge`]), `link set ${bridge} promisc on`, `link set ${bridge} up`])
}

/**
 * Takes the description of a network of another kind away, before a runtime could lay pods by it: with what ours is to be is known only
 * when the node has its ranges. `kind` is any text that tells one from the other.
 */
export async function forgetOtherNetwork(kind: string, kindFile: string, configDirectory: string, files: Files): Promise<void> {
  if ((await files.readTextIfPresent(kindFile)) === kind) return
  await files.remove(join(configDirectory, fileName))
  await files.write(kindFile, kind)
}

/** For when no pod is left in it. */
export async function removeBridgeNetwork(
  network: Pick<BridgeNetwork, 'bridge' | 'dataDirectory'>,
  configDirectory: string,
  { files, processes }: Seams,
): Promise<void> {
  await removeMasquerade(commentOf(network), processes)
  await removeForwarding(commentOf(network), processes)
  await files.remove(join(configDirectory, fileName))
  // It is gone already, or was never made, when no pod had a network of its own.
  await processes.run('ip', ['link', 'delete', network.bridge])
  await files.remove(network.dataDirectory)
}

/** Takes a bridge away that another kind of network has left, with its rules: its address is that of the next one. False where pods are on it. */
export async function removeIdleBridge(bridge: string, processes: Processes): Promise<boolean> {
  const ip = ipTool(processes)
  const links = await ip.show<Link>('link', 'show')
  if (!links.some(({ ifname }) => ifname === bridge)) return true
  if (links.some(({ master }) => master === bridge)) return false
  await removeMasquerade(commentOf({ bridge }), processes)
  await removeForwarding(commentOf({ bridge }), processes)
  await ip.try([`link delete ${bridge}`])
  return true
}

/** Rules of the bridge's pods are known by it. */
export const masqueradeComment = (bridge: string): string => `pods of ${bridge}`
const commentOf = ({ bridge }: Pick<BridgeNetwork, 'bridge'>): string => masqueradeComment(bridge)

/** An interface's name that clusters in other directories do not have. */
export const bridgeNameOf = (dataDirectory: string): string => `tn-${hashOf(dataDirectory)}`

/** Eight digits that stand for a cluster in names that the kernel keeps short. */
export function hashOf(dataDirectory: string): string {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(dataDirectory)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash.toString(16).padStart(8, '0')
}
