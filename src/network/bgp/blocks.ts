/** A node's addresses in blocks of a fixed size, as routes between nodes name them. */
import { addressAt, parseRange, prefixLength } from '#base/ip-range.ts'

const blockLength = { IPv4: 26, IPv6: 122 }
/** A node's piece of an IPv6 range holds more blocks than routes are made for: it is announced as a whole. */
const mostBlocks = 64

export function blocksOf(podCidr: string): string[] {
  const range = parseRange(podCidr)
  const length = blockLength[range.family]
  const count = 2 ** (length - prefixLength(range))
  if (count <= 1 || count > mostBlocks) return [podCidr]
  const size = range.size / BigInt(count)
  return Array.from({ length: count }, (_, index) => `${addressAt(range, size * BigInt(index))}/${length}`)
}
