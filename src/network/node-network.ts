/**
 * What joins the nodes of a cluster on one machine: a bridge with a range of addresses that no other cluster on the machine has.
 * The machine has the first address, where pods and nodes find the API.
 */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import { addressAt, contains, overlaps, parseRange, prefixLength } from '#base/ip-range.ts'
import type { Processes } from '#base/processes.ts'
import { hashOf } from '#network/bridge-network.ts'
import { ipTool, type Link, type Route } from '#network/kernel/ip-tool.ts'

export type NodeNetwork = {
  bridge: string
  /** Of the nodes' addresses. */
  range: string
  /** The machine's own in it. */
  address: string
}

type Seams = { files: Files; processes: Processes }

const parent = '172.30.0.0/16'
const blockCount = 256
const blockBits = 8

export const nodeBridgeName = (dataDirectory: string): string => `tnn-${hashOf(dataDirectory)}`

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
  throw new Error(`every block of ${parent} is in use on this machine; remove clusters that are no longer needed (typernetes down)`)
}

/** Lays the bridge where it is not there. The same cluster gets the same addresses again, unless somebody else has them by now. */
export async function layNodeNetwork(dataDirectory: string, { files, processes }: Seams): Promise<NodeNetwork> {
  const ip = ipTool(processes)
  const bridge = nodeBridgeName(dataDirectory)
  const [links, routes] = await Promise.all([ip.show<Link>('address', 'show'), ip.show<Route>('-4', 'route', 'show', 'table', 'all')])
  const others = routes.filter(({ dst, dev }) => dev !== bridge && dst !== 'default').map(({ dst }) => asRange(dst))
  const kept = await files.readTextIfPresent(keptPath(dataDirectory))
  const keptRange = kept === undefined ? undefined : (JSON.parse(kept) as { range: string }).range
  const isFree = keptRange !== undefined && !others.some((other) => overlaps(parseRange(other), parseRange(keptRange)))
  const range = isFree ? keptRange : freeBlock(dataDirectory, others)
  if (range !== keptRange) await files.write(keptPath(dataDirectory), JSON.stringify({ range }))
  const network = { bridge, range, address: addressAt(parseRange(range), 1) }
  await ip.change(missing(network, links))
  return network
}

export async function removeNodeNetwork(dataDirectory: string, { files, processes }: Seams): Promise<void> {
  if ((await files.stat(keptPath(dataDirectory))) === undefined) return
  await ipTool(processes).try([`link delete ${nodeBridgeName(dataDirectory)}`])
  await files.remove(keptPath(dataDirectory))
}

function missing({ bridge, range, address }: NodeNetwork, links: readonly Link[]): string[] {
  const link = links.find(({ ifname }) => ifname === bridge)
  const wanted = { local: address, prefixlen: prefixLength(parseRange(range)) }
  const addresses = link?.addr_info?.filter(({ family }) => family === 'inet') ?? []
  const isWanted = (one: { local: string; prefixlen: number }) => one.local === wanted.local && one.prefixlen === wanted.prefixlen
  return [
    ...(link === undefined ? [`link add ${bridge} type bridge`] : []),
    ...addresses.filter((one) => !isWanted(one)).map(({ local, prefixlen }) => `address delete ${local}/${prefixlen} dev ${bridge}`),
    ...(addresses.some(isWanted) ? [] : [`address add ${wanted.local}/${wanted.prefixlen} dev ${bridge}`]),
    ...(link?.flags.includes('UP') ? [] : [`link set ${bridge} up`]),
  ]
}

const asRange = (destination: string): string => (destination.includes('/') ? destination : `${destination}/32`)

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
