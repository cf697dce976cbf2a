/** The 4 or 16 octets of an IP address in text. */
export function ipAddressOctets(text: string): Uint8Array {
  const octets = text.includes(':') ? ipv6Octets(text) : ipv4Octets(text)
  if (octets === undefined) throw new Error(`${JSON.stringify(text)} is not an IP address`)
  return Uint8Array.from(octets)
}

export function isIpAddress(text: string): boolean {
  return (text.includes(':') ? ipv6Octets(text) : ipv4Octets(text)) !== undefined
}

/** Of 4 octets dotted, of 16 in eight groups, none left out. */
export function ipAddressText(octets: Uint8Array): string {
  if (octets.length === 4) return octets.join('.')
  const groups: string[] = []
  for (let index = 0; index + 1 < octets.length; index += 2)
    groups.push((((octets[index] ?? 0) << 8) | (octets[index + 1] ?? 0)).toString(16))
  return groups.join(':')
}

function ipv4Octets(text: string): number[] | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  const octets = match?.slice(1).map(Number)
  return octets?.every((octet) => octet <= 255) ? octets : undefined
}

function ipv6Octets(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2 || (halves.length === 2 && halves[0]?.includes('.'))) return undefined
  const [head, tail] = halves.map(groupOctets)
  if (head === undefined) return undefined
  if (halves.length === 1) return head.length === 16 ? head : undefined
  if (tail === undefined || head.length + tail.length > 14) return undefined
  return [...head, ...new Array<number>(16 - head.length - tail.length).fill(0), ...tail]
}

function groupOctets(text: string): number[] | undefined {
  if (text === '') return []
  const octets: number[] = []
  const parts = text.split(':')
  for (const [index, part] of parts.entries()) {
    if (part.includes('.')) {
      const embedded = index === parts.length - 1 ? ipv4Octets(part) : undefined
      if (embedded === undefined) return undefined
      octets.push(...embedded)
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined
      const group = Number.parseInt(part, 16)
      octets.push(group >> 8, group & 0xff)
    }
  }
  return octets
}
