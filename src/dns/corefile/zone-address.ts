import { fullName } from '#wire/dns/dns-name.ts'
import { ipv4Bytes } from '#wire/dns/ip-bytes.ts'

export const dnsPort = 53

/** `cluster.local:1053`, `dns://.`, `10.96.0.0/16`: what a block is for, and at which port. */
export function parseZoneAddress(text: string, line: number): { zone: string; port: number } {
  const [, scheme, rest = ''] = /^(?:(\w+):\/\/)?(.*)$/.exec(text) ?? []
  if (scheme !== undefined && scheme !== 'dns') throw new Error(`line ${line}: ${text}: ${scheme} is not served, dns alone is`)
  const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(rest) ?? []
  return { zone: zoneName(name === '' ? '.' : name, line), port: port === undefined ? dnsPort : Number(port) }
}

/** A range of addresses stands for the zone in which they are looked up. */
export function zoneName(text: string, line: number): string {
  const [address = '', bits] = text.split('/')
  if (bits === undefined) {
    if (!/^(\.|([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?)$/i.test(text)) throw new Error(`line ${line}: ${text} is not a valid zone`)
    return fullName(text)
  }
  const octets = Number(bits) / 8
  if (ipv4Bytes(address) === undefined || ![1, 2, 3, 4].includes(octets)) {
    throw new Error(`line ${line}: ${text}: of ranges only those of IPv4 with /8, /16, /24 or /32 are zones`)
  }
  return `${address.split('.').slice(0, octets).reverse().join('.')}.in-addr.arpa.`
}
