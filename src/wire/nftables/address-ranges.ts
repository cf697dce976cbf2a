/** Sets of addresses as sorted ranges that do not touch: what an interval set of nftables wants. */
import { addressNumber, addressText, type IpFamily } from '#base/ip-range.ts'

/** First and last address, both included. */
export type AddressRange = readonly [first: bigint, last: bigint]

/** Throws where the text is no range; a lone address is a range of one. */
export function rangeOf(cidr: string): AddressRange {
  const [address = '', length] = cidr.split('/')
  const width = address.includes(':') ? 128 : 32
  const value = addressNumber(address)
  const hostBits = BigInt(width - (length === undefined ? width : Number(length)))
  const first = (value >> hostBits) << hostBits
  return [first, first + (1n << hostBits) - 1n]
}

export function isInRange(cidr: string, address: string): boolean {
  if (cidr.includes(':') !== address.includes(':')) return false
  const [first, last] = rangeOf(cidr)
  const value = addressNumber(address)
  return value >= first && value <= last
}

/** Sorted, and those that overlap or touch made one. */
export function mergedRanges(ranges: readonly AddressRange[]): AddressRange[] {
  const sorted = ranges.toSorted((one, other) => (one[0] < other[0] ? -1 : one[0] > other[0] ? 1 : 0))
  const merged: [bigint, bigint][] = []
  for (const [first, last] of sorted) {
    const previous = merged.at(-1)
    if (previous === undefined || first > previous[1] + 1n) merged.push([first, last])
    else if (last > previous[1]) previous[1] = last
  }
  return merged
}

/** What is in `ranges` and not in `holes`. */
export function withoutRanges(ranges: readonly AddressRange[], holes: readonly AddressRange[]): AddressRange[] {
  const cuts = mergedRanges(holes)
  const left: AddressRange[] = []
  let at = 0
  for (const [first, last] of mergedRanges(ranges)) {
    let from = first
    while (at < cuts.length && (cuts[at]?.[1] ?? 0n) < from) at++
    for (let index = at; index < cuts.length; index++) {
      const [cutFirst, cutLast] = cuts[index] ?? [0n, 0n]
      if (cutFirst > last) break
      if (cutFirst > from) left.push([from, cutFirst - 1n])
      from = cutLast + 1n
    }
    if (from <= last) left.push([from, last])
  }
  return left
}

/** In nft's words: `10.0.0.0-10.0.0.255`, or one address. */
export function rangeText([first, last]: AddressRange, family: IpFamily): string {
  return first === last ? addressText(first, family) : `${addressText(first, family)}-${addressText(last, family)}`
}
