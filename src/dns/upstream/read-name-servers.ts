import type { Files } from '#base/files.ts'
import type { SocketAddress } from '#base/sockets.ts'
import { dnsPort } from '#dns/corefile/zone-address.ts'
import { canonicalIp } from '#wire/dns/ip-bytes.ts'

/** Those that a file such as /etc/resolv.conf names. Throws where it names none. */
export async function readNameServers(path: string, files: Files): Promise<SocketAddress[]> {
  const text = (await files.readTextIfPresent(path)) ?? ''
  const addresses: SocketAddress[] = []
  for (const line of text.split('\n')) {
    const [, address = ''] = /^\s*nameserver\s+(\S+)/.exec(line) ?? []
    // Link-local addresses come with the interface they are on.
    const host = canonicalIp(address.split('%')[0] ?? '')
    if (host !== undefined) addresses.push({ host: address.includes('%') ? address : host, port: dnsPort })
  }
  if (addresses.length === 0) throw new Error(`no nameservers found: ${path} names none`)
  return addresses
}
