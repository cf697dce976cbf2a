/** Addresses that were given out on a node, as files that the stock plugin lays too. */
import { join } from 'node:path'
import { addressNumber, addressText, contains, type IpRange } from '#base/ip-range.ts'
import type { CniRequest } from '#network/cni/contract.ts'

export type AddressRange = { subnet: IpRange; first: bigint; last: bigint; gateway: string }

const defaultDirectory = '/var/lib/cni/networks'

export const ownerText = (containerId: string, ifName: string): string => `${containerId}\r\n${ifName}`

/** One file an address: that it can be made once is what makes giving out safe among plugins that run at the same time. */
export class AddressStore {
  readonly owner: string
  readonly #directory: string
  readonly #files: CniRequest['seams']['files']

  constructor({ conf, containerId, ifName, seams }: CniRequest) {
    const directory = conf.ipam?.['dataDir']
    this.#directory = join(typeof directory === 'string' && directory !== '' ? directory : defaultDirectory, conf.name)
    this.#files = seams.files
    this.owner = ownerText(containerId, ifName)
  }

  async taken(): Promise<Map<string, string>> {
    const names = (await this.#files.list(this.#directory)).filter((name) => /^[0-9a-f.:]+$/.test(name))
    const owners = await Promise.all(names.map((name) => this.#files.readTextIfPresent(join(this.#directory, name))))
    return new Map(names.map((name, index) => [name, (owners[index] ?? '').trim()]))
  }

  async reserve(address: string, set: number): Promise<boolean> {
    await this.#files.makeDirectory(this.#directory, { mode: 0o755 })
    if (!(await this.#files.createExclusive(join(this.#directory, address), this.owner, { mode: 0o644 }))) return false
    await this.#files.write(join(this.#directory, `last_reserved_ip.${set}`), address, { mode: 0o644 })
    return true
  }

  async last(set: number): Promise<string | undefined> {
    return (await this.#files.readTextIfPresent(join(this.#directory, `last_reserved_ip.${set}`)))?.trim()
  }

  async release(): Promise<void> {
    for (const [address, owner] of await this.taken()) if (owner === this.owner) await this.forget(address)
  }

  forget(address: string): Promise<void> {
    return this.#files.remove(join(this.#directory, address))
  }
}

export async function nextFree(store: AddressStore, set: readonly AddressRange[], index: number, taken: ReadonlyMap<string, string>) {
  const last = await store.last(index)
  // From the one after the last on, once around: an address that was given back rests as long as it can.
  const start = last === undefined ? -1 : set.findIndex((range) => isIn(range, last))
  const order = start < 0 ? set : [...set.slice(start), ...set.slice(0, start), ...set.slice(start, start + 1)]
  for (const [turn, range] of order.entries()) {
    const isFirst = start >= 0 && turn === 0
    const from = isFirst && last !== undefined ? addressNumber(last) + 1n : range.first
    const to = start >= 0 && turn === order.length - 1 && turn > 0 && last !== undefined ? addressNumber(last) : range.last
    for (let value = from; value <= to; value++) {
      const address = addressText(value, range.subnet.family)
      if (address === range.gateway || taken.has(address)) continue
      if (await store.reserve(address, index)) return { address, range }
    }
  }
  return undefined
}

export function isIn({ subnet, first, last }: AddressRange, address: string): boolean {
  return contains(subnet, address) && addressNumber(address) >= first && addressNumber(address) <= last
}
