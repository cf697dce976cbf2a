/** Addresses that traffic may be sent to. */
import type { Check } from '#api/meta/check.ts'
import { isIpv4, parseIp } from '#api/meta/ip.ts'

/** Nobody may use a service to reach what only a node itself can reach. */
export function validateEndpointIp(check: Check<string>): void {
  const address = check.value
  const ip = parseIp(address)
  if (ip === undefined) {
    check.invalid('must be a valid IP address')
    return
  }
  const [a = 0, b = 0, c = 0] = isIpv4(ip) ? ip.subarray(12) : ip
  const isV4 = isIpv4(ip)
  const isAll = (last: number) => ip.every((byte, index) => byte === (index === 15 ? last : 0))
  if (isV4 ? ip.subarray(12).every((byte) => byte === 0) : isAll(0)) check.invalid(`may not be unspecified (${address})`)
  if (isV4 ? a === 127 : isAll(1)) check.invalid('may not be in the loopback range (127.0.0.0/8, ::1/128)')
  if (isV4 ? a === 169 && b === 254 : a === 0xfe && (b & 0xc0) === 0x80) {
    check.invalid('may not be in the link-local range (169.254.0.0/16, fe80::/10)')
  }
  if (isV4 ? a === 224 && b === 0 && c === 0 : a === 0xff && (b & 0x0f) === 0x02) {
    check.invalid('may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)')
  }
}
