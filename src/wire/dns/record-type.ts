/** Numbers of the protocol, and what they are called. */

export const recordTypes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  NAPTR: 35,
  DNAME: 39,
  OPT: 41,
  DS: 43,
  RRSIG: 46,
  NSEC: 47,
  DNSKEY: 48,
  NSEC3: 50,
  SVCB: 64,
  HTTPS: 65,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
  CAA: 257,
} as const

export const internetClass = 1

export const rcodes = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5, BADVERS: 16 } as const

const typeNames = new Map<number, string>(Object.entries(recordTypes).map(([name, number]) => [number, name]))
const rcodeNames = new Map<number, string>(Object.entries(rcodes).map(([name, number]) => [number, name]))

/** `AAAA`, or `TYPE4711` for one that has no name here. */
export function recordTypeName(type: number): string {
  return typeNames.get(type) ?? `TYPE${type}`
}

export function rcodeName(rcode: number): string {
  return rcodeNames.get(rcode) ?? `RCODE${rcode}`
}

/** Undefined where there is no type of this name. */
export function recordTypeNumber(name: string): number | undefined {
  const upper = name.toUpperCase()
  const [, digits] = /^TYPE(\d{1,5})$/.exec(upper) ?? []
  return Object.hasOwn(recordTypes, upper)
    ? recordTypes[upper as keyof typeof recordTypes]
    : digits === undefined
      ? undefined
      : Number(digits)
}
