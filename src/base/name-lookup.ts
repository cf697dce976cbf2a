import { lookup } from 'node:dns/promises'

/** The addresses of a host, as the machine resolves names; an address is its own. Rejects when there are none. */
export async function addressesOf(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}
