/** IP addresses and ranges: parsing as upstream's API does it (leniently, then strictly), printing, and evaluating fields. */
import { type Check, quoted } from './check.ts'

/** 16 bytes; IPv4 lies in `::ffff:0:0/96`. */
export type IpBytes = Uint8Array

export type Cidr = {
  /** The address as written, bits after the prefix included. */
  ip: IpBytes
  /** The address with those bits cleared. */
  network: IpBytes
  prefixLength: number
  /** 32 when written as IPv4. */
  bits: 32 | 128
}

/** Takes what Go's old parser took: IPv4 octets may have leading zeros. */
export function parseIp(text: string): IpBytes | undefined {
  for (let index = 0; index < text.length; index++) {
    const char = text[index]
    if (char === '.') return parseIpv4(text)
    if (char === ':') return parseIpv6(text)
  }
  return undefined
}

function parseIpv4(text: string): IpBytes | undefined {
  const octets = text.split('.')
  if (octets.length !== 4) return undefined
  const bytes = new Uint8Array(16)
  bytes[10] = bytes[11] = 0xff
  for (const [index, octet] of octets.entries()) {
    if (!/^[0-9]+$/.test(octet)) return undefined
    const value = Number(octet)
    if (value > 255) return undefined
    bytes[12 + index] = value
  }
  return bytes
}

function parseIpv6(text: string): IpBytes | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head = '', tail] = halves
  const front = ipv6Groups(head, tail === undefined)
  const back = tail === undefined ? [] : ipv6Groups(tail, true)
  if (front === undefined || back === undefined) return undefined
  const length = front.length + back.length
  if (tail === undefined ? length !== 16 : length > 14) return undefined
  const bytes = new Uint8Array(16)
  bytes.set(front)
  bytes.set(back, 16 - back.length)
  return bytes
}

function ipv6Groups(text: string, mayEndInIpv4: boolean): number[] | undefined {
  if (text === '') return []
  const bytes: number[] = []
  const groups = text.split(':')
  for (const [index, group] of groups.entries()) {
    if (mayEndInIpv4 && index === groups.length - 1 && group.includes('.')) {
      const ipv4 = parseIpv4(group)
      if (ipv4 === undefined) return undefined
      bytes.push(...ipv4.subarray(12))
      continue
    }
    if (!/^0*[0-9a-fA-F]{1,4}$/.test(group)) return undefined
    const value = Number.parseInt(group, 16)
    bytes.push(value >> 8, value & 0xff)
  }
  return bytes
}

export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/')
  if (slash < 0) return undefined
  const address = text.slice(0, slash)
  const ipv4 = parseIpv4(address)
  const ip = ipv4 ?? parseIpv6(address)
  const length = text.slice(slash + 1)
  const bits = ipv4 === undefined ? 128 : 32
  if (ip === undefined || !/^[0-9]+$/.test(length) || Number(length) > bits) return undefined
  const prefixLength = Number(length)
  return { ip, network: masked(ip, prefixLength + 128 - bits), prefixLength, bits }
}

function masked(ip: IpBytes, length: number): IpBytes {
  return ip.map((byte, index) => {
    const kept = Math.min(8, Math.max(0, length - index * 8))
    return byte & (0xff << (8 - kept))
  })
}

/** True for IPv4-mapped IPv6 as well. */
export function isIpv4(ip: IpBytes): boolean {
  for (let index = 0; index < 10; index++) if (ip[index] !== 0) return false
  return ip[10] === 0xff && ip[11] === 0xff
}

/** The canonical form (RFC 5952); IPv4-mapped addresses print as IPv4. */
export function ipText(ip: IpBytes): string {
  if (isIpv4(ip)) return ip.subarray(12).join('.')
  const groups = Array.from({ length: 8 }, (_, index) => ((ip[index * 2] ?? 0) << 8) | (ip[index * 2 + 1] ?? 0))
  const zeros = longestZeros(groups)
  const hex = (part: number[]) => part.map((group) => group.toString(16)).join(':')
  if (zeros.length < 2) return hex(groups)
  return `${hex(groups.slice(0, zeros.start))}::${hex(groups.slice(zeros.start + zeros.length))}`
}

/** The one way an address is written, whichever way it came; undefined where it is none. Nothing but digits, letters, dots and colons is in it. */
export function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text)
  return ip && ipText(ip)
}

/** The same of a network, without bits after the prefix. */
export function canonicalCidr(text: string): string | undefined {
  const cidr = parseCidr(text)
  return cidr && cidrText(cidr)
}

function longestZeros(groups: number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 }
  for (let start = 0; start < groups.length; start++) {
    let end = start
    while (end < groups.length && groups[end] === 0) end++
    if (end - start > best.length) best = { start, length: end - start }
    start = Math.max(start, end - 1)
  }
  return best
}

/** The network in canonical form: `10.0.0.0/8`. */
export function cidrText(cidr: Cidr): string {
  return `${ipText(cidr.network)}/${shownLength(cidr, cidr.network)}`
}

// `::ffff:1.2.3.0/120` is shown as IPv4, and so must its length be.
function shownLength({ prefixLength, bits }: Cidr, shown: IpBytes): number {
  return bits === 128 && prefixLength >= 96 && isIpv4(shown) ? prefixLength - 96 : prefixLength
}

export function sameIp(one: IpBytes, other: IpBytes): boolean {
  return one.every((byte, index) => byte === other[index])
}

export function cidrContains(cidr: Cidr, ip: IpBytes): boolean {
  if (isIpv4(ip) !== isIpv4(cidr.ip)) return false
  return sameIp(masked(ip, cidr.prefixLength + 128 - cidr.bits), cidr.network)
}

/** What current parsers refuse although the old one took it. */
function hasLeadingZeros(address: string): boolean {
  return /(?:^|[.:])0[0-9]+(?=\.|$)/.test(afterLastColon(address)) || /[0-9a-fA-F]{5,}/.test(address)
}

const afterLastColon = (address: string): string => {
  const last = address.slice(address.lastIndexOf(':') + 1)
  return last.includes('.') ? last : ''
}

const isMapped = (address: string, ip: IpBytes): boolean => address.includes(':') && isIpv4(ip)

export type LegacyField = {
  /** What the stored object had, which is taken as it is. */
  known?: ReadonlySet<string>
  /** The gate StrictIPCIDRValidation. */
  strict?: boolean
}

/** For fields older than strict validation. */
export function ipForLegacyField(check: Check<string>, { known, strict = true }: LegacyField = {}): void {
  const value = check.value
  if (!known?.has(value)) validatedIp(check, strict)
}

/** For fields that take canonical addresses only. */
export function validIp(check: Check<string>): void {
  const value = check.value
  const ip = validatedIp(check, true)
  if (ip !== undefined && ipText(ip) !== value) check.invalid(`must be in canonical form (${quoted(ipText(ip))})`)
}

function validatedIp(check: Check<string>, strict: boolean): IpBytes | undefined {
  const value = check.value
  const ip = parseIp(value)
  let wrong: string | undefined
  if (ip === undefined) wrong = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
  else if (strict && hasLeadingZeros(value)) wrong = 'must not have leading 0s'
  else if (strict && isMapped(value, ip)) wrong = 'must not be an IPv4-mapped IPv6 address'
  if (wrong === undefined) return ip
  check.invalid(wrong)
  return undefined
}

export function cidrForLegacyField(check: Check<string>, { known, strict = true }: LegacyField = {}): void {
  const value = check.value
  if (!known?.has(value)) validatedCidr(check, strict)
}

/** For fields that take canonical networks only, no bits after the prefix. */
export function validCidr(check: Check<string>): void {
  const value = check.value
  const cidr = validatedCidr(check, true)
  if (cidr !== undefined && cidrText(cidr) !== value) check.invalid(`must be in canonical form (${quoted(cidrText(cidr))})`)
}

function validatedCidr(check: Check<string>, strict: boolean): Cidr | undefined {
  const value = check.value
  const cidr = parseCidr(value)
  let wrong: string | undefined
  if (cidr === undefined) wrong = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'
  else if (strict && cidrHasLeadingZeros(value)) wrong = 'must not have leading 0s in IP or prefix length'
  else if (strict && isMapped(value, cidr.ip)) wrong = 'must not have an IPv4-mapped IPv6 address'
  else if (strict && !sameIp(cidr.ip, cidr.network)) wrong = 'must not have bits set beyond the prefix length'
  if (wrong === undefined) return cidr
  check.invalid(wrong)
  return undefined
}

function cidrHasLeadingZeros(value: string): boolean {
  const [address = '', length = ''] = value.split('/')
  return hasLeadingZeros(address) || /^0./.test(length)
}

/** For fields that take an address with the size of its network: `192.168.1.5/24`. */
export function validInterfaceAddress(check: Check<string>): void {
  const value = check.value
  const cidr = parseCidr(value)
  const canonical = cidr && interfaceText(cidr)
  if (canonical === undefined) check.invalid('must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)')
  else if (value !== canonical) check.invalid(`must be in canonical form (${quoted(canonical)})`)
}

// An IPv4-mapped address keeps a length up to 32, which then means another network; upstream does so too.
function interfaceText({ ip, prefixLength }: Cidr): string {
  return `${ipText(ip)}/${isIpv4(ip) && prefixLength > 32 ? prefixLength - 96 : prefixLength}`
}

/** Warnings for a field that ipForLegacyField let pass. */
export function warningsForIp(path: string, value: string): string[] {
  const ip = parseIp(value)
  if (ip === undefined) return []
  const canonical = ipText(ip)
  if (hasLeadingZeros(value) || isMapped(value, ip)) {
    return [`${path}: non-standard IP address ${quoted(value)} is invalid: use ${quoted(canonical)}`]
  }
  if (isIpv4(ip) || canonical === value) return []
  return [`${path}: IPv6 address ${quoted(value)} should be in RFC 5952 canonical format (${quoted(canonical)})`]
}

/** Warnings for a field that cidrForLegacyField let pass. */
export function warningsForCidr(path: string, value: string): string[] {
  const cidr = parseCidr(value)
  if (cidr === undefined) return []
  const canonical = cidrText(cidr)
  const warnings: string[] = []
  if (!sameIp(cidr.ip, cidr.network)) {
    const single = `${ipText(cidr.ip)}/${cidr.bits}`
    warnings.push(
      `${path}: CIDR value ${quoted(value)} is ambiguous in this context (should be ${quoted(canonical)} or ${quoted(single)}?)`,
    )
  }
  if (cidrHasLeadingZeros(value) || isMapped(value, cidr.ip)) {
    warnings.push(`${path}: non-standard CIDR value ${quoted(value)} is invalid: use ${quoted(canonical)}`)
  }
  if (warnings.length === 0 && !isIpv4(cidr.ip) && canonical !== value) {
    warnings.push(`${path}: IPv6 CIDR value ${quoted(value)} should be in RFC 5952 canonical format (${quoted(canonical)})`)
  }
  return warnings
}
