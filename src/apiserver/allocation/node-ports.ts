/** Ports that services take on every node. A key in the store is the claim, so that several servers never give one out twice. */
import { AllocationError, RangeIsFull } from '#apiserver/allocation/cluster-ips.ts'
import type { Random } from '#base/random.ts'
import type { Store } from '#store/store.ts'

const prefix = '/registry/ranges/servicenodeports/'
const nothing = new Uint8Array()

export class NodePorts {
  readonly #store: Store
  readonly #random: Random
  readonly #first: number
  readonly #count: number
  /** As this server knows them; the store decides. */
  readonly #taken = new Set<number>()

  constructor(store: Store, random: Random, [first, last]: readonly [number, number]) {
    this.#store = store
    this.#random = random
    this.#first = first
    this.#count = last - first + 1
  }

  /** Takes over what services already use, and frees what none uses any more. */
  async start(used: ReadonlySet<number>): Promise<void> {
    const { kvs } = await this.#store.range({ prefix, keysOnly: true })
    const claimed = new Set(kvs.map(({ key }) => Number(key.slice(prefix.length))))
    for (const port of claimed) if (!used.has(port)) await this.release(port)
    for (const port of used) if (!claimed.has(port)) await this.#claim(port)
    for (const port of used) this.#taken.add(port)
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
    const offset = this.#random.int(this.#count)
    for (let step = 0; step < this.#count; step++) {
      const port = this.#first + ((offset + step) % this.#count)
      if (this.#taken.has(port)) continue
      if (isDryRun || (await this.#claim(port))) return port
    }
    throw new RangeIsFull('range is full')
  }

  async release(port: number): Promise<void> {
    await this.#store.txn({ success: [{ delete: { key: `${prefix}${port}` } }] })
    this.#taken.delete(port)
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
