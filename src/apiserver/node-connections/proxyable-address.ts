/** Addresses that requests may be passed on to: not this machine's own, not those of a link, not many at once. */

/** As Go's `IsGlobalUnicast` has it; private addresses are as good as any. */
export function isGlobalUnicast(address: string): boolean {
  const v4 = /^(?:::ffff:)?(\d+)\.(\d+)\.(\d+)\.(\d+)$/i.exec(address)
  if (v4 !== null) return isGlobalV4(v4.slice(1).map(Number))
  if (!/^[0-9a-f:]+$/i.test(address) || !address.includes(':')) return false
  const isUnspecifiedOrLoopback = /^[0:]*:(?:0*[01])?$/.test(address)
  return !isUnspecifiedOrLoopback && !/^(?:fe[89ab]|ff)/i.test(address)
}

function isGlobalV4(parts: number[]): boolean {
  const [first = 0, second = 0] = parts
  if (parts.some((part) => part > 255) || parts.every((part) => part === 0) || parts.every((part) => part === 255)) return false
  const isMulticast = first >= 224 && first < 240
  const isLinkLocal = first === 169 && second === 254
  return first !== 127 && !isMulticast && !isLinkLocal
}
