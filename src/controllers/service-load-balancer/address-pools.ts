import { addressNumber, addressText, familyOf, type IpFamily, parseRange, usable } from '#base/ip-range.ts'

/** Addresses that services may get. */
export type AddressPool = { readonly name: string; readonly family: IpFamily; readonly first: bigint; readonly count: bigint }

const defaultPoolName = 'default'

/** `10.0.0.0/24`, `10.0.0.10-10.0.0.20` or one address; with a name before it: `public=…`. Throws where it is none of these. */
export function parsePool(text: string): AddressPool {
  const [, name = defaultPoolName, range = ''] = /^(?:([^=]+)=)?(.*)$/.exec(text) ?? []
  try {
    if (range.includes('/')) {
      const parsed = parseRange(range)
      return { name, family: parsed.family, ...usable(parsed) }
    }
    const [from = '', to = from] = range.split('-')
    const [first, last] = [addressNumber(from), addressNumber(to)]
    if (!isAddress(from) || !isAddress(to) || familyOf(from) !== familyOf(to) || last < first) throw new Error('not a range')
    return { name, family: familyOf(from), first, count: last - first + 1n }
  } catch {
    throw new Error(
      `"${text}" is not a valid pool of addresses: give a range (10.0.0.0/24), two ends (10.0.0.10-10.0.0.20), or one address`,
    )
  }
}

const isAddress = (text: string): boolean => /^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F.]*:[0-9a-fA-F:.]*)$/.test(text)

const holds = ({ family, first, count }: AddressPool, address: string): boolean => {
  if (familyOf(address) !== family) return false
  const value = addressNumber(address)
  return value >= first && value < first + count
}

/** Why a service cannot have an address: what its users are told. */
export class NoAddress extends Error {
  override name = 'NoAddress'
}

/** Who has which address. */
export class AddressLedger {
  readonly #pools: readonly AddressPool[]
  readonly #owners = new Map<string, string>()
  readonly #held = new Map<string, Set<string>>()
  /** Where the search begins: addresses are not given out again at once. */
  readonly #next = new Map<AddressPool, bigint>()

  constructor(pools: readonly AddressPool[]) {
    this.#pools = pools
  }

  isOurs(address: string): boolean {
    return this.#pools.some((pool) => holds(pool, address))
  }

  addressesOf(owner: string): readonly string[] {
    return [...(this.#held.get(owner) ?? [])]
  }

  /** False where somebody else has it. */
  claim(owner: string, address: string): boolean {
    const current = this.#owners.get(address)
    if (current !== undefined && current !== owner) return false
    this.#owners.set(address, owner)
    const held = this.#held.get(owner) ?? new Set()
    this.#held.set(owner, held.add(address))
    return true
  }

  release(owner: string, keep: readonly string[] = []): void {
    for (const address of this.addressesOf(owner)) {
      if (keep.includes(address)) continue
      this.#owners.delete(address)
      this.#held.get(owner)?.delete(address)
    }
    if (this.#held.get(owner)?.size === 0) this.#held.delete(owner)
  }

  /** What the owner is to have of a family: the one it asks for, or what it has, or one that is free. Throws `NoAddress`. */
  assign(owner: string, family: IpFamily, { wanted, poolName }: { wanted?: string | undefined; poolName?: string | undefined }): string {
    const pools = this.#pools.filter((pool) => pool.family === family && (poolName === undefined || pool.name === poolName))
    if (wanted !== undefined) {
      if (!pools.some((pool) => holds(pool, wanted)))
        throw new NoAddress(`the address ${wanted} is in no pool${poolName === undefined ? '' : ` called ${poolName}`}`)
      if (!this.claim(owner, wanted)) throw new NoAddress(`the address ${wanted} is in use by service ${this.#owners.get(wanted)}`)
      return wanted
    }
    const current = this.addressesOf(owner).find((address) => pools.some((pool) => holds(pool, address)))
    if (current !== undefined) return current
    for (const pool of pools) {
      const free = this.#freeIn(pool)
      if (free === undefined) continue
      this.claim(owner, free)
      return free
    }
    const which = poolName === undefined ? `${family} addresses` : `addresses of the pool ${poolName}`
    throw new NoAddress(pools.length === 0 ? `there is no pool of ${which}` : `no ${which} are free`)
  }

  #freeIn(pool: AddressPool): string | undefined {
    // Among as many as are in use and one more there is a free one.
    const tries = pool.count < BigInt(this.#owners.size + 1) ? pool.count : BigInt(this.#owners.size + 1)
    const start = this.#next.get(pool) ?? 0n
    for (let step = 0n; step < tries; step++) {
      const offset = (start + step) % pool.count
      const address = addressText(pool.first + offset, pool.family)
      if (this.#owners.has(address)) continue
      this.#next.set(pool, (offset + 1n) % pool.count)
      return address
    }
    return undefined
  }
}
