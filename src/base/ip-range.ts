/** Ranges of addresses, IPv4 and IPv6 alike, as whole numbers. */
import { isIP } from 'node:net'

export type IpFamily = 'IPv4' | 'IPv6'

export type IpRange = { readonly text: string; readonly family: IpFamily; readonly first: bigint; readonly size: bigint }

export function parseRange(text: string): IpRange {
  const [address = '', bits = ''] = text.split('/')
  const family = familyOf(address)
  const width = family === 'IPv4' ? 32n : 128n
  const size = 1n << (width - BigInt(bits))
  const value = addressNumber(address)
  return { text, family, first: value - (value % size), size }
}

/** Whether the text is an address and a length that its family has. */
export function isRange(text: string): boolean {
  const [address = '', length = '', ...rest] = text.split('/')
  const family = isIP(address)
  return family !== 0 && rest.length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128)
}

export function familyOf(address: string): IpFamily {
  return address.includes(':') ? 'IPv6' : 'IPv4'
}

export function contains({ family, first, size }: IpRange, address: string): boolean {
  if (familyOf(address) !== family) return false
  const value = addressNumber(address)
  return value >= first && value < first + size
}

/** The network itself and, in IPv4, its broadcast address are given to nobody. */
export function usable({ family, first, size }: IpRange): { first: bigint; count: bigint } {
  const lost = family === 'IPv4' ? 2n : 1n
  return { first: first + 1n, count: size > lost ? size - lost : 0n }
}

export function addressNumber(address: string): bigint {
  if (familyOf(address) === 'IPv4') return address.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n)
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address)
  const plain = dotted ? `${dotted[1]}${hexPair(dotted[2] ?? '')}` : address
  const [head = '', tail] = plain.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : new Array<string>(8 - before.length - after.length).fill('0')
  return [...before, ...zeros, ...after].reduce((value, part) => (value << 16n) | BigInt(`0x${part || '0'}`), 0n)
}

function hexPair(dotted: string): string {
  const value = addressNumber(dotted)
  return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`
}

export function addressText(value: bigint, family: IpFamily): string {
  if (family === 'IPv4') return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16))
  // The longest run of zeros, the first of equals, is written as two colons.
  const runs = [...groups.join(':').matchAll(/(?:^|(?<=:))0(?::0)+(?=:|$)/g)].sort((left, right) => right[0].length - left[0].length)
  const longest = runs[0]
  if (longest === undefined) return groups.join(':')
  const text = groups.join(':')
  const before = text.slice(0, longest.index).replace(/:$/, '')
  const after = text.slice(longest.index + longest[0].length).replace(/^:/, '')
  return `${before}::${after}`
}

/** The first address that services get: the API's own. */
export function firstAddress(range: IpRange): string {
  return addressText(usable(range).first, range.family)
}

/** The address that comes `offset` after the first one of the range, which is the network's own. */
export function addressAt({ first, family }: IpRange, offset: number | bigint): string {
  return addressText(first + BigInt(offset), family)
}

export function prefixLength({ size, family }: IpRange): number {
  return (family === 'IPv4' ? 32 : 128) - (size.toString(2).length - 1)
}

/** `10.1.2.0/24`, whatever bits after the prefix it was written with. */
export function rangeText(range: IpRange): string {
  return `${addressAt(range, 0)}/${prefixLength(range)}`
}

export function overlaps(one: IpRange, other: IpRange): boolean {
  return one.family === other.family && one.first < other.first + other.size && other.first < one.first + one.size
}
