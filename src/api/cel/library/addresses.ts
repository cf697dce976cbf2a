/** IP addresses and ranges. */
import { bool, int, opaque, string } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, member, plain } from '#api/cel/types/declarations.ts'
import { CelError, CelObject, type Value } from '#api/cel/values/value.ts'
import { type Cidr, cidrContains, cidrText, type IpBytes, ipText, isIpv4, parseCidr, parseIp, sameIp } from '#api/meta/ip.ts'

export const ipType = opaque('net.IP')
export const cidrType = opaque('net.CIDR')

class IpValue extends CelObject {
  override readonly type = ipType
  override readonly weight: number
  readonly ip: IpBytes

  constructor(ip: IpBytes) {
    super()
    this.ip = ip
    this.weight = isIpv4(ip) ? 4 : 16
  }
  override equals(other: Value): boolean {
    return other instanceof IpValue && sameIp(this.ip, other.ip)
  }
}

class CidrValue extends CelObject {
  override readonly type = cidrType
  override readonly weight: number
  readonly cidr: Cidr

  constructor(cidr: Cidr) {
    super()
    this.cidr = cidr
    this.weight = Math.ceil(cidr.prefixLength / 8)
  }
  override equals(other: Value): boolean {
    if (!(other instanceof CidrValue)) return false
    const { ip, prefixLength, bits } = this.cidr
    return sameIp(ip, other.cidr.ip) && prefixLength === other.cidr.prefixLength && bits === other.cidr.bits
  }
}

const quoted = JSON.stringify
/** Octets with leading zeros mean one thing here and another there, so nobody takes them any more. */
const hasLeadingZero = (text: string): boolean =>
  text.split(/[.:]/).length > 3 && /(?:^|[.:])0[0-9]+(?:\.|$)/.test(text.slice(text.lastIndexOf(':') + 1))

function parsedIp(text: string): IpBytes {
  if (text.includes('%')) throw new CelError(`IP address ${quoted(text)} with zone value is not allowed`)
  const ip = hasLeadingZero(text) ? undefined : parseIp(text)
  if (ip === undefined)
    throw new CelError(
      `IP Address ${quoted(text)} parse error during conversion from string: ParseAddr(${quoted(text)}): unable to parse IP`,
    )
  if (text.includes(':') && isIpv4(ip)) throw new CelError(`IPv4-mapped IPv6 address ${quoted(text)} is not allowed`)
  return ip
}

function parsedCidr(text: string): Cidr {
  const [address = '', length = ''] = text.split('/')
  const cidr = hasLeadingZero(address) || /^0[0-9]/.test(length) ? undefined : parseCidr(text)
  const failure = 'network address parse error during conversion from string'
  if (cidr === undefined) throw new CelError(`${failure}: ${failure}: netip.ParsePrefix(${quoted(text)}): unable to parse IP`)
  if (cidr.bits === 128 && isIpv4(cidr.ip)) throw new CelError(`${failure}: IPv4-mapped IPv6 address ${quoted(text)} is not allowed`)
  return cidr
}

function holds(work: () => unknown): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}

const ip = (value: Value | undefined): IpBytes => (value as IpValue).ip
const cidr = (value: Value | undefined): Cidr => (value as CidrValue).cidr

const familyOf = (address: IpBytes): 4 | 6 => (isIpv4(address) ? 4 : 6)
const first = (address: IpBytes): number => address[isIpv4(address) ? 12 : 0] ?? 0
const second = (address: IpBytes): number => address[isIpv4(address) ? 13 : 1] ?? 0

const isUnspecified = (address: IpBytes): boolean => ['0.0.0.0', '::'].includes(ipText(address))
const isLoopback = (address: IpBytes): boolean => (isIpv4(address) ? first(address) === 127 : ipText(address) === '::1')
const isMulticast = (address: IpBytes): boolean => (isIpv4(address) ? (first(address) & 0xf0) === 0xe0 : first(address) === 0xff)
const isLinkLocalUnicast = (address: IpBytes): boolean =>
  isIpv4(address) ? first(address) === 169 && second(address) === 254 : first(address) === 0xfe && (second(address) & 0xc0) === 0x80
const isLinkLocalMulticast = (address: IpBytes): boolean =>
  isIpv4(address)
    ? first(address) === 224 && second(address) === 0 && address[14] === 0
    : first(address) === 0xff && (second(address) & 0x0f) === 0x02
const isGlobalUnicast = (address: IpBytes): boolean =>
  ipText(address) !== '255.255.255.255' &&
  !isUnspecified(address) &&
  !isLoopback(address) &&
  !isMulticast(address) &&
  !isLinkLocalUnicast(address)

const isInside = (range: Cidr, address: IpBytes): boolean => (range.bits === 32) === isIpv4(address) && cidrContains(range, address)
const isPart = (range: Cidr, part: Cidr): boolean => range.prefixLength <= part.prefixLength && isInside(range, part.network)

const question = (name: string, id: string, answer: (address: IpBytes) => boolean): FunctionDeclaration =>
  declare(
    name,
    member(id, [ipType], bool, (value) => answer(ip(value))),
  )

export const addressesLibrary: readonly FunctionDeclaration[] = [
  declare(
    'ip',
    plain('string_to_ip', [string], ipType, (text) => new IpValue(parsedIp(text as string))),
    member('cidr_ip', [cidrType], ipType, (value) => new IpValue(cidr(value).ip)),
  ),
  declare(
    'family',
    member('ip_family', [ipType], int, (value) => BigInt(familyOf(ip(value)))),
  ),
  declare(
    'ip.isCanonical',
    plain('ip_is_canonical', [string], bool, (text) => ipText(parsedIp(text as string)) === text),
  ),
  question('isUnspecified', 'ip_is_unspecified', isUnspecified),
  question('isLoopback', 'ip_is_loopback', isLoopback),
  question('isLinkLocalMulticast', 'ip_is_link_local_multicast', isLinkLocalMulticast),
  question('isLinkLocalUnicast', 'ip_is_link_local_unicast', isLinkLocalUnicast),
  question('isGlobalUnicast', 'ip_is_global_unicast', isGlobalUnicast),
  declare(
    'isIP',
    plain('is_ip', [string], bool, (text) => holds(() => parsedIp(text as string))),
  ),
  declare(
    'cidr',
    plain('string_to_cidr', [string], cidrType, (text) => new CidrValue(parsedCidr(text as string))),
  ),
  declare(
    'isCIDR',
    plain('is_cidr', [string], bool, (text) => holds(() => parsedCidr(text as string))),
  ),
  declare(
    'containsIP',
    member('cidr_contains_ip_string', [cidrType, string], bool, (range, text) => isInside(cidr(range), parsedIp(text as string))),
    member('cidr_contains_ip_ip', [cidrType, ipType], bool, (range, address) => isInside(cidr(range), ip(address))),
  ),
  declare(
    'containsCIDR',
    member('cidr_contains_cidr_string', [cidrType, string], bool, (range, text) => isPart(cidr(range), parsedCidr(text as string))),
    member('cidr_contains_cidr', [cidrType, cidrType], bool, (range, part) => isPart(cidr(range), cidr(part))),
  ),
  declare(
    'prefixLength',
    member('cidr_prefix_length', [cidrType], int, (value) => BigInt(cidr(value).prefixLength)),
  ),
  declare(
    'masked',
    member('cidr_masked', [cidrType], cidrType, (value) => new CidrValue({ ...cidr(value), ip: cidr(value).network })),
  ),
  declare(
    'string',
    plain('ip_to_string', [ipType], string, (value) => ipText(ip(value))),
    plain('cidr_to_string', [cidrType], string, (value) => cidrText(cidr(value))),
  ),
]
