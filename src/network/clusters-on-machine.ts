/**
 * Which clusters have a part in this machine's network. The bridge that joins a cluster's nodes says in its alias which data directory it
 * belongs to, and whether the machine itself is a node of it.
 */
import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import { bridgeNameOf, hashOf } from '#network/bridge-network.ts'
import { ipTool, type Link } from '#network/kernel/ip-tool.ts'

const machineNode = 'machine node of '
const otherNodes = 'nodes of '
/** The kernel keeps no longer ones. */
const longestAlias = 255

export const nodeBridgeName = (dataDirectory: string): string => `tnn-${hashOf(dataDirectory)}`

/** What `ip -batch` is told to write on the bridge. A directory of an unusual name is left out: its bridge is nobody's to tidy up. */
export function aliasCommand(dataDirectory: string, hasMachineNode: boolean): string {
  const words = hasMachineNode ? machineNode : otherNodes
  const whole = words + dataDirectory
  const isPlain = Buffer.byteLength(whole) <= longestAlias && /^[\w ./@:+,=~-]+$/.test(dataDirectory)
  return `link set dev ${nodeBridgeName(dataDirectory)} alias "${isPlain ? whole : words.trimEnd()}"`
}

const isNodeBridge = ({ ifname }: Link): boolean => /^tnn-[0-9a-f]{8}$/.test(ifname)
const isPodBridge = ({ ifname }: Link): boolean => /^tn-[0-9a-f]{8}$/.test(ifname)

/** The directory a bridge was made for, where the bridge says so. */
function directoryOf({ ifname, ifalias = '' }: Link): string | undefined {
  const words = [machineNode, otherNodes].find((one) => ifalias.startsWith(one))
  const directory = words === undefined ? '' : ifalias.slice(words.length)
  return words !== undefined && ifname === nodeBridgeName(directory) ? directory : undefined
}

/**
 * The cluster other than this one that has the machine itself for a node, in words; undefined where there is none. Of two such clusters
 * one would take the other's services for its own. Pods of a cluster that has stopped run on, and so do its services.
 */
export function otherMachineNode(dataDirectory: string, links: readonly Link[]): string | undefined {
  const claim = links.find(
    (link) => isNodeBridge(link) && link.ifname !== nodeBridgeName(dataDirectory) && link.ifalias?.startsWith(machineNode.trimEnd()),
  )
  if (claim !== undefined) {
    const directory = directoryOf(claim)
    return directory === undefined ? `the cluster of bridge ${claim.ifname}` : `the cluster in ${directory}`
  }
  const pods = links.find((link) => isPodBridge(link) && link.ifname !== bridgeNameOf(dataDirectory))
  return pods === undefined ? undefined : `the cluster of bridge ${pods.ifname}`
}

/**
 * Removes bridges of clusters whose data directory was deleted without `down`; resolves with the links that stay. One that a node or a
 * server still uses is left alone: its directory may be out of sight only, as in a container.
 */
export async function removeAbandonedBridges(
  links: readonly Link[],
  { files, processes }: { files: Files; processes: Processes },
): Promise<Link[]> {
  const abandoned: Link[] = []
  for (const link of links.filter(isNodeBridge)) {
    const directory = directoryOf(link)
    if (directory === undefined || (await files.stat(directory)) !== undefined) continue
    const isUsed = links.some(({ master, ifname }) => master === link.ifname || ifname === bridgeNameOf(directory))
    if (!isUsed && !(await isListenedOn(link, processes))) abandoned.push(link)
  }
  await ipTool(processes).try(abandoned.map(({ ifname }) => `link delete ${ifname}`))
  return links.filter((link) => !abandoned.includes(link))
}

async function isListenedOn({ addr_info = [] }: Link, processes: Processes): Promise<boolean> {
  for (const { local } of addr_info.filter(({ family }) => family === 'inet')) {
    const { exitCode, stdout } = await processes.run('ss', ['-Hltn', 'src', local])
    if (exitCode !== 0 || stdout.trim() !== '') return true
  }
  return false
}
