/** Ports that services take on every node. A key in the store is the claim, so that several servers never give one out twice. */
import { AllocationError, RangeIsFull } from '#apiserver/allocation/cluster-ips.ts'
import type { Random } from '#base/random.ts'
import type { Store } from '#store/store.ts'

const prefix = '/registry/ranges/servicenodeports/'
const nothing = new Uint8Array()
const timesUnused = 3

export class NodePorts {
  readonly #store: Store
  readonly #random: Random
  readonly #first: number
  readonly #count: number
  /** As this server knows them; the store decides. */
  readonly #taken = new Set<number>()
  /** Claims without a service, and how often they were found so. */
  readonly #unused = new Map<number, number>()

  constructor(store: Store, random: Random, [first, last]: readonly [number, number]) {
    this.#store = store
    this.#random = random
    this.#first = first
    this.#count = last - first + 1
  }

  /** Takes over what services already use, and frees what none uses any more, unless it may be another server's. */
  async start(used: ReadonlySet<number>, sharesStore: boolean): Promise<void> {
    const claimed = await this.#claimed()
    if (!sharesStore) for (const port of claimed) if (!used.has(port)) await this.release(port)
    for (const port of used) if (!claimed.has(port)) await this.#claim(port)
    for (const port of used) this.#taken.add(port)
  }

  /** Frees what no service was seen to use several times in a row: another server may be about to store one. */
  async repair(used: ReadonlySet<number>): Promise<void> {
    const claimed = await this.#claimed()
    for (const port of this.#unused.keys()) if (used.has(port) || !claimed.has(port)) this.#unused.delete(port)
    for (const port of claimed) {
      if (used.has(port)) continue
      const times = (this.#unused.get(port) ?? 0) + 1
      this.#unused.set(port, times)
      if (times >= timesUnused) await this.release(port)
    }
    for (const port of used) if (!claimed.has(port)) await this.#claim(port)
    this.#learn(claimed)
  }

  async allocate(port: number, isDryRun: boolean): Promise<void> {
    if (port < this.#first || port >= this.#first + this.#count) {
      throw new AllocationError(
        `provided port is not in the valid range. The range of valid ports is ${this.#first}-${this.#first + this.#count - 1}`,
      )
    }
    if (isDryRun ? this.#taken.has(port) : !(await this.#claim(port))) throw new AllocationError('provided port is already allocated')
  }

  async allocateNext(isDryRun: boolean): Promise<number> {
    const port = await this.#findFree(isDryRun)
    if (port !== undefined) return port
    // Others may have freed some.
    this.#learn(await this.#claimed())
    const freed = await this.#findFree(isDryRun)
    if (freed === undefined) throw new RangeIsFull('range is full')
    return freed
  }

  async #findFree(isDryRun: boolean): Promise<number | undefined> {
    const offset = this.#random.int(this.#count)
    for (let step = 0; step < this.#count; step++) {
      const port = this.#first + ((offset + step) % this.#count)
      if (this.#taken.has(port)) continue
      if (isDryRun || (await this.#claim(port))) return port
    }
    return undefined
  }

  async release(port: number): Promise<void> {
    await this.#store.txn({ success: [{ delete: { key: `${prefix}${port}` } }] })
    this.#taken.delete(port)
    this.#unused.delete(port)
  }

  async #claimed(): Promise<Set<number>> {
    const { kvs } = await this.#store.range({ prefix, keysOnly: true })
    return new Set(kvs.map(({ key }) => Number(key.slice(prefix.length))))
  }

  #learn(claimed: ReadonlySet<number>): void {
    this.#taken.clear()
    for (const port of claimed) this.#taken.add(port)
  }

  async #claim(port: number): Promise<boolean> {
    const key = `${prefix}${port}`
    const { succeeded } = await this.#store.txn({
      compare: [{ key, target: 'modRevision', op: '=', value: 0 }],
      success: [{ put: { key, value: nothing } }],
    })
    this.#taken.add(port)
    return succeeded
  }
}
