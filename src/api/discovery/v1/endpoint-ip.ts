/** Which addresses traffic may be sent to. */
import type { Check } from '#api/meta/check.ts'
import { type IpBytes, isIpv4, parseIp } from '#api/meta/ip.ts'

export function validateEndpointIp(address: string, check: Check): void {
  const ip = parseIp(address)
  if (!ip) {
    check.invalid(address, 'must be a valid IP address')
    return
  }
  if (isUnspecified(ip)) check.invalid(address, `may not be unspecified (${address})`)
  if (isLoopback(ip)) check.invalid(address, 'may not be in the loopback range (127.0.0.0/8, ::1/128)')
  if (isLinkLocalUnicast(ip)) check.invalid(address, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)')
  if (isLinkLocalMulticast(ip)) check.invalid(address, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)')
}

const startsWithZeros = (ip: IpBytes, count: number) => ip.subarray(0, count).every((byte) => byte === 0)

function isUnspecified(ip: IpBytes): boolean {
  return isIpv4(ip) ? ip.subarray(12).every((byte) => byte === 0) : startsWithZeros(ip, 16)
}

function isLoopback(ip: IpBytes): boolean {
  return isIpv4(ip) ? ip[12] === 127 : startsWithZeros(ip, 15) && ip[15] === 1
}

function isLinkLocalUnicast(ip: IpBytes): boolean {
  return isIpv4(ip) ? ip[12] === 169 && ip[13] === 254 : ip[0] === 0xfe && ((ip[1] ?? 0) & 0xc0) === 0x80
}

function isLinkLocalMulticast(ip: IpBytes): boolean {
  return isIpv4(ip) ? ip[12] === 224 && ip[13] === 0 && ip[14] === 0 : ip[0] === 0xff && ((ip[1] ?? 0) & 0x0f) === 2
}
