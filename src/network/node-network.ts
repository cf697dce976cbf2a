/**
 * What joins the nodes of a cluster on one machine: a bridge with a range of addresses that no other cluster on the machine has.
 * The machine has the first address, where pods and nodes find the API.
 */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import { addressAt, contains, overlaps, parseRange, prefixLength, rangeText } from '#base/ip-range.ts'
import type { Processes } from '#base/processes.ts'
import { bridgeNameOf, hashOf } from '#network/bridge-network.ts'
import { aliasCommand, nodeBridgeName, otherMachineNode, removeAbandonedBridges } from '#network/clusters-on-machine.ts'
import { ensureForwarding, removeForwarding } from '#network/forwarding.ts'
import { ipTool, type Link, type Route } from '#network/kernel/ip-tool.ts'
import { ensureMasquerade, removeMasquerade } from '#network/masquerade.ts'
import { removeQuietAddress } from '#network/quiet-address.ts'

export type NodeNetwork = {
  bridge: string
  /** Of the nodes' addresses. */
  range: string
  /** The machine's own in it. */
  address: string
  /** The same of IPv6, where pods have addresses of both families. */
  rangeV6?: string | undefined
  addressV6?: string | undefined
  /** Of all pods. */
  clusterCidrs: readonly string[]
  /** The machine itself is a node; otherwise every node has a network namespace of its own. */
  hasMachineNode: boolean
  /** The cluster that has the machine itself for a node, where this one may not have it for that reason. */
  machineNodeOf?: string | undefined
  /** Nothing of it was there before. */
  isNew: boolean
}

export type NodeNetworkOptions = {
  clusterCidrs: readonly string[]
  /** Another range may be taken where something else on the machine has this one. */
  mayMove: boolean
  mayUseMachine: boolean
}

type Seams = { files: Files; processes: Processes }

const parent = '172.30.0.0/16'
const blockCount = 256
const blockBits = 8
const mostMoves = 10
const usualRange = '10.244.0.0/16'
const privateRanges = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']

const keptPath = (dataDirectory: string): string => join(dataDirectory, 'node-network.json')

/** The first block from the cluster's own place on that nothing on the machine leads to already. */
export function freeBlock(dataDirectory: string, taken: readonly string[]): string {
  const ranges = taken.map(parseRange)
  const base = parseRange(parent)
  const start = Number.parseInt(hashOf(dataDirectory), 16) % blockCount
  for (let step = 0; step < blockCount; step++) {
    const block = `${addressAt(base, ((start + step) % blockCount) << blockBits)}/${32 - blockBits}`
    if (!ranges.some((range) => overlaps(range, parseRange(block)))) return block
  }
  throw new Error(`every block of ${parent} is in use on this machine; remove clusters that are no longer needed (typernetes delete)`)
}

/** Of nobody else, but for an accident in four thousand million. */
export function ownRangeV6(dataDirectory: string): string {
  const hash = hashOf(dataDirectory)
  return rangeText(parseRange(`fd30:${hash.slice(0, 4)}:${hash.slice(4)}::/64`))
}

/** The wanted ranges, moved by as many blocks of their size as it takes until nothing on the machine leads there. */
export function freeRanges(wanted: readonly string[], taken: readonly string[]): string[] {
  const others = taken.map(parseRange)
  return wanted.map((text) => {
    const range = parseRange(text)
    const bases = range.family === 'IPv4' ? [range, parseRange(usualRange)] : [range]
    for (const base of bases) {
      for (let step = 0; step < mostMoves; step++) {
        const moved = `${addressAt(base, base.size * BigInt(step))}/${prefixLength(base)}`
        // What follows a range need not be for private use any more.
        const isPrivate = moved === text || privateRanges.some((one) => contains(parseRange(one), moved.split('/')[0] ?? ''))
        if (isPrivate && !others.some((other) => overlaps(other, parseRange(moved)))) return moved
      }
    }
    throw new Error(`${text} and what follows it is in use on this machine; choose another range with --cluster-cidr`)
  })
}

type Kept = {
  range: string
  rangeV6?: string | undefined
  wanted: readonly string[]
  clusterCidrs: readonly string[]
  hasMachineNode: boolean
}

/** Lays the bridge where it is not there. The same cluster gets the same addresses again, unless somebody else has them by now. */
export async function layNodeNetwork(
  dataDirectory: string,
  options: NodeNetworkOptions,
  { files, processes }: Seams,
): Promise<NodeNetwork> {
  const ip = ipTool(processes)
  const bridge = nodeBridgeName(dataDirectory)
  const podBridge = bridgeNameOf(dataDirectory)
  const links = await removeAbandonedBridges(await ip.show<Link>('address', 'show'), { files, processes })
  const routes = await ip.show<Route>('route', 'show', 'table', 'all')
  const others = routes
    .filter(({ dst, dev }) => dev !== bridge && dev !== podBridge && /^[0-9a-f.:]+(\/\d+)?$/.test(dst))
    .map(({ dst }) => asRange(dst))
  const isFree = (range: string) => !others.some((other) => overlaps(parseRange(other), parseRange(range)))
  const text = await files.readTextIfPresent(keptPath(dataDirectory))
  const kept = text === undefined ? undefined : (JSON.parse(text) as Kept)
  const isSameRequest = kept !== undefined && kept.wanted.join() === options.clusterCidrs.join()
  const cidrs = options.mayMove ? freeRanges(options.clusterCidrs, others) : options.clusterCidrs
  const mayUseMachine = kept?.hasMachineNode ?? options.mayUseMachine
  let machineNodeOf = kept === undefined && mayUseMachine ? otherMachineNode(dataDirectory, links) : undefined
  const next: Kept = {
    range: kept !== undefined && isFree(kept.range) ? kept.range : freeBlock(dataDirectory, others),
    wanted: options.clusterCidrs,
    // Pods keep their addresses: a range that was chosen once stays.
    clusterCidrs: kept !== undefined && (isSameRequest || options.mayMove) ? kept.clusterCidrs : cidrs,
    hasMachineNode: mayUseMachine && machineNodeOf === undefined,
  }
  if (next.clusterCidrs.some((cidr) => cidr.includes(':'))) next.rangeV6 = ownRangeV6(dataDirectory)
  const keep = () => files.write(keptPath(dataDirectory), JSON.stringify(next))
  // First of all, so that `down` knows of whatever is made from here on.
  if (JSON.stringify(next) !== text) await keep()
  const address = addressAt(parseRange(next.range), 1)
  const addressV6 = next.rangeV6 === undefined ? undefined : addressAt(parseRange(next.rangeV6), 1)
  const wanted = { bridge, range: next.range, address, rangeV6: next.rangeV6, addressV6 }
  await ip.change([...missing(wanted, links), aliasCommand(dataDirectory, next.hasMachineNode)])
  if (kept === undefined && next.hasMachineNode) {
    // Who started at the same moment has said so by now. Where both see the other, neither takes the machine.
    machineNodeOf = otherMachineNode(dataDirectory, await ip.show<Link>('address', 'show'))
    if (machineNodeOf !== undefined) {
      next.hasMachineNode = false
      await keep()
      await ip.change([aliasCommand(dataDirectory, false)])
    }
  }
  const isNew = kept === undefined && !links.some(({ ifname }) => ifname === bridge)
  return { ...next, bridge, address, addressV6, machineNodeOf, isNew }
}

export async function removeNodeNetwork(dataDirectory: string, { files, processes }: Seams): Promise<void> {
  if ((await files.stat(keptPath(dataDirectory))) === undefined) return
  const bridge = nodeBridgeName(dataDirectory)
  await removeMasquerade(commentOf({ bridge }), processes)
  await removeForwarding(commentOf({ bridge }), processes)
  await removeQuietAddress(dataDirectory, processes)
  await ipTool(processes).try([`link delete ${bridge}`])
  await files.remove(keptPath(dataDirectory))
}

/** Nodes in namespaces of their own reach the world by way of the machine. */
export async function layNodeMasquerade(network: NodeNetwork, processes: Processes): Promise<void> {
  const ranges = [network.range, ...(network.rangeV6 === undefined ? [] : [network.rangeV6])]
  // Where bridged packets are shown to these rules, those from a node to another one's pods are among them: pods see who asks.
  await ensureMasquerade({ from: ranges, except: ranges, exceptLink: network.bridge, comment: commentOf(network) }, processes)
  await ensureForwarding([...ranges, ...network.clusterCidrs], commentOf(network), processes)
  await processes.run('sh', ['-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward'])
  if (network.rangeV6 !== undefined) await processes.run('sh', ['-c', forwardV6])
}

/** A machine that forwards takes no default route from routers any more, unless it is told to: it would lose its way out. */
const forwardV6 = `cd /proc/sys/net/ipv6/conf && for each in */accept_ra; do [ "$(cat "$each")" != 1 ] || echo 2 > "$each"; done; echo 1 > all/forwarding`

const commentOf = ({ bridge }: Pick<NodeNetwork, 'bridge'>): string => `nodes of ${bridge}`

type Wanted = Pick<NodeNetwork, 'bridge' | 'range' | 'address' | 'rangeV6' | 'addressV6'>

function missing({ bridge, range, address, rangeV6, addressV6 }: Wanted, links: readonly Link[]): string[] {
  const link = links.find(({ ifname }) => ifname === bridge)
  const text = ({ local, prefixlen }: { local: string; prefixlen: number }) => `${local}/${prefixlen}`
  const present = (link?.addr_info?.filter(({ scope }) => scope === 'global') ?? []).map(text)
  const length = (of: string) => prefixLength(parseRange(of))
  const wanted = [`${address}/${length(range)}`, ...(addressV6 && rangeV6 ? [`${addressV6}/${length(rangeV6)}`] : [])]
  return [
    ...(link === undefined ? [`link add ${bridge} type bridge`] : []),
    ...present.filter((one) => !wanted.includes(one)).map((one) => `address delete ${one} dev ${bridge}`),
    ...wanted.filter((one) => !present.includes(one)).map((one) => `address add ${one} dev ${bridge}${one.includes(':') ? ' nodad' : ''}`),
    ...(link?.flags.includes('UP') ? [] : [`link set ${bridge} up`]),
  ]
}

const asRange = (destination: string): string =>
  destination.includes('/') ? destination : `${destination}/${destination.includes(':') ? 128 : 32}`

/**
 * Who may come in where the API listens for pods: the cluster's own, by address. The kernel takes packets for any address of the machine
 * at any of its interfaces, so that the bridge by itself keeps nobody out.
 */
export function isOfCluster(ranges: readonly string[], ownAddresses: () => readonly string[], isPod: (address: string) => boolean) {
  const parsed = ranges.map(parseRange)
  return (remote: string): boolean => {
    const address = remote.replace(/^::ffff:/, '')
    return parsed.some((range) => contains(range, address)) || ownAddresses().includes(address) || isPod(address)
  }
}
