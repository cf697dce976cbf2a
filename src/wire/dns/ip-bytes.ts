/** Addresses as they travel in messages. */

/** Undefined where the text is no address of IPv4. */
export function ipv4Bytes(text: string): number | undefined {
  let value = 0
  let part = -1
  let dots = 0
  for (let index = 0; index <= text.length; index++) {
    const code = index === text.length ? 0x2e : text.charCodeAt(index)
    if (code === 0x2e) {
      if (part < 0) return undefined
      value = value * 256 + part
      part = -1
      dots++
    } else {
      if (code < 0x30 || code > 0x39 || part === 0) return undefined
      part = (part < 0 ? 0 : part * 10) + code - 0x30
      if (part > 255) return undefined
    }
  }
  return dots === 4 ? value : undefined
}

export function ipv4Text(bytes: Uint8Array, at: number): string {
  return `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`
}

/** Eight groups of 16 bits; undefined where the text is no address of IPv6. */
export function ipv6Groups(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = groupsOf(halves[0] ?? '', halves.length === 1)
  const tail = halves.length === 2 ? groupsOf(halves[1] ?? '', true) : []
  if (head === undefined || tail === undefined) return undefined
  const missing = 8 - head.length - tail.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined
  return [...head, ...new Array<number>(missing).fill(0), ...tail]
}

function groupsOf(text: string, mayEndDotted: boolean): number[] | undefined {
  if (text === '') return []
  const groups: number[] = []
  const parts = text.split(':')
  for (const [index, part] of parts.entries()) {
    const dotted = mayEndDotted && index === parts.length - 1 && part.includes('.') ? ipv4Bytes(part) : undefined
    if (dotted !== undefined) groups.push(Math.floor(dotted / 65_536), dotted % 65_536)
    else if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16))
    else return undefined
  }
  return groups
}

/** As RFC 5952 writes it. */
export function ipv6Text(groups: readonly number[]): string {
  let best = { start: -1, length: 1 }
  for (let start = 0; start < 8; start++) {
    let length = 0
    while (start + length < 8 && groups[start + length] === 0) length++
    if (length > best.length) best = { start, length }
    if (length > 0) start += length - 1
  }
  const hex = groups.map((group) => group.toString(16))
  if (best.start < 0) return hex.join(':')
  return `${hex.slice(0, best.start).join(':')}::${hex.slice(best.start + best.length).join(':')}`
}

/** The same address always has the same text; undefined where it is none. */
export function canonicalIp(text: string): string | undefined {
  if (!text.includes(':')) return ipv4Bytes(text) === undefined ? undefined : text
  const groups = ipv6Groups(text)
  return groups && ipv6Text(groups)
}
