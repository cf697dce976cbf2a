import { ipv4Bytes, ipv6Text } from '#wire/dns/ip-bytes.ts'

/** The address that `4.3.2.1.in-addr.arpa.` and its kin ask about; undefined where the name is no whole address. */
export function addressOfReverseName(name: string): string | undefined {
  if (name.endsWith('.in-addr.arpa.')) {
    const text = name.slice(0, -'.in-addr.arpa.'.length).split('.').reverse().join('.')
    return ipv4Bytes(text) === undefined ? undefined : text
  }
  if (!name.endsWith('.ip6.arpa.')) return undefined
  const digits = name.slice(0, -'.ip6.arpa.'.length).split('.').reverse()
  if (digits.length !== 32 || digits.some((digit) => !/^[0-9a-f]$/.test(digit))) return undefined
  return ipv6Text(Array.from({ length: 8 }, (_, index) => Number.parseInt(digits.slice(4 * index, 4 * index + 4).join(''), 16)))
}

export function isReverseName(name: string): boolean {
  return name.endsWith('.in-addr.arpa.') || name.endsWith('.ip6.arpa.') || name === 'in-addr.arpa.' || name === 'ip6.arpa.'
}
