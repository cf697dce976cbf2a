import { parseRange, prefixLength } from '#base/ip-range.ts'

/** Pods of these addresses are on the node at `address`. */
export type ForwardedRange = { range: string; address: string }

/** Which node a packet of IPv4 is for, by where it goes. */
export class ForwardTable {
  /** By the length of prefixes, the longest first: a look a length, however many nodes there are. */
  readonly #tables: { shift: number; addresses: Map<number, string> }[]

  constructor(ranges: readonly ForwardedRange[]) {
    const tables = new Map<number, Map<number, string>>()
    for (const { range, address } of ranges) {
      const parsed = parseRange(range)
      if (parsed.family !== 'IPv4') continue
      const shift = 32 - prefixLength(parsed)
      const addresses = tables.get(shift) ?? new Map<number, string>()
      addresses.set(Math.floor(Number(parsed.first) / 2 ** shift), address)
      tables.set(shift, addresses)
    }
    this.#tables = [...tables].sort(([one], [other]) => one - other).map(([shift, addresses]) => ({ shift, addresses }))
  }

  addressFor(packet: Uint8Array): string | undefined {
    const destination = destinationOf(packet)
    if (destination === undefined) return undefined
    for (const { shift, addresses } of this.#tables) {
      const address = addresses.get(Math.floor(destination / 2 ** shift))
      if (address !== undefined) return address
    }
    return undefined
  }
}

const leastHeaderBytes = 20

/** Undefined for what is no packet of IPv4. */
function destinationOf(packet: Uint8Array): number | undefined {
  if (packet.length < leastHeaderBytes || (packet[0] ?? 0) >> 4 !== 4) return undefined
  const [a = 0, b = 0, c = 0, d = 0] = packet.subarray(16, 20)
  return a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d
}
