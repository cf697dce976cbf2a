/** Which blocks of which pools a node may have. Pure. */
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { addressText, contains, familyOf, type IpFamily, isRange, overlaps, parseRange, prefixLength, rangeText } from '#base/ip-range.ts'
import type { IPAMBlock, IPPool } from '#network/calico/definitions.ts'
import { parseCalicoSelector } from '#network/calico/selector.ts'

const usualBlockSize = { IPv4: 26, IPv6: 122 }
/** Candidates that are looked at in a pool that is all but full. */
const mostCandidates = 65_536n

/** `192.168.0.0/26` as a name. */
export const blockName = (cidr: string): string => cidr.replaceAll(/[.:/]/g, '-')
export const affinityOf = (nodeName: string): string => `host:${nodeName}`

/** Ranges of the blocks that a node has, the oldest first. */
export function blocksOfNode(blocks: readonly IPAMBlock[], nodeName: string): string[] {
  return blocks
    .filter(({ spec }) => spec.affinity === affinityOf(nodeName) && isRange(spec.cidr))
    .toSorted((one, other) => (ageKey(one) < ageKey(other) ? -1 : 1))
    .map(({ spec }) => spec.cidr)
}

const ageKey = ({ metadata }: IPAMBlock): string => `${metadata.creationTimestamp ?? '~'} ${metadata.name}`

/** Pools that new addresses of this node may come from, in the order of their names. */
export function poolsForNode(pools: readonly IPPool[], node: Pick<V1Node, 'metadata'>, family: IpFamily): IPPool[] {
  return pools
    .filter(({ spec }) => {
      const { cidr, disabled, nodeSelector, allowedUses } = spec
      if (disabled || !isRange(cidr) || familyOf(cidr) !== family) return false
      return (allowedUses === undefined || allowedUses.includes('Workload')) && selects(nodeSelector, node)
    })
    .toSorted((one, other) => ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1))
}

function selects(selector: string, { metadata }: Pick<V1Node, 'metadata'>): boolean {
  try {
    return parseCalicoSelector(selector).matches(metadata.labels)
  } catch {
    return false
  }
}

export const poolOf = (pools: readonly IPPool[], address: string): IPPool | undefined =>
  pools.find(({ spec }) => isRange(spec.cidr) && contains(parseRange(spec.cidr), address))

export const blockSizeOf = ({ spec: { cidr, blockSize } }: IPPool): number => blockSize ?? usualBlockSize[familyOf(cidr)]

/** The block of the pool that holds the address. */
export function blockAround(pool: IPPool, address: string): string {
  return rangeText(parseRange(`${address}/${Math.max(blockSizeOf(pool), prefixLength(parseRange(pool.spec.cidr)))}`))
}

/**
 * A block of the pool that nobody has; undefined where there is none. Where the search begins depends on the node, so that nodes that
 * start together do not all ask for the same one.
 */
export function freeBlock(pool: IPPool, taken: ReadonlySet<string>, nodeName: string): string | undefined {
  const range = parseRange(pool.spec.cidr)
  const length = blockSizeOf(pool)
  if (length < prefixLength(range)) return undefined
  const count = 1n << BigInt(length - prefixLength(range))
  const size = range.size / count
  const suffix = `/${length}`
  // Those of another size were made when the pool had one.
  const others = [...taken].filter((cidr) => !cidr.endsWith(suffix)).map(parseRange)
  const start = BigInt(startOf(nodeName)) % count
  for (let step = 0n; step < count && step < mostCandidates; step++) {
    const cidr = `${addressText(range.first + ((start + step) % count) * size, range.family)}${suffix}`
    if (taken.has(cidr)) continue
    const candidate = parseRange(cidr)
    if (!others.some((other) => overlaps(other, candidate))) return cidr
  }
  return undefined
}

function startOf(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash
}
