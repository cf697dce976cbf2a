/** RFC 4648, without padding: names of chains have it. */
const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function base32(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += digits[(value >> bits) & 31]
    }
  }
  return bits > 0 ? text + digits[(value << (5 - bits)) & 31] : text
}
