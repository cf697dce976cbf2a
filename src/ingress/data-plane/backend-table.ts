import type { Random } from '#base/random.ts'
import type { Backend, BackendProtocol, Endpoint } from '#ingress/data-plane/backend.ts'
import { EndpointPool, type PoolSeams } from '#ingress/data-plane/endpoint-pool.ts'

type Entry = { backend: Backend; pools: EndpointPool[]; next: number }

const poolKey = ({ host, port }: Endpoint, protocol: BackendProtocol): string => `${protocol} ${host} ${port}`

/** The backends and the connections to their endpoints, which backends with the same endpoint share. */
export class BackendTable {
  readonly #seams: PoolSeams
  readonly #random: Random
  readonly #backends = new Map<string, Entry>()
  readonly #pools = new Map<string, { pool: EndpointPool; users: number }>()

  constructor(seams: PoolSeams, random: Random) {
    this.#seams = seams
    this.#random = random
  }

  has(key: string): boolean {
    return this.#backends.has(key)
  }

  set(key: string, backend: Backend): void {
    const before = this.#backends.get(key)
    const pools = backend.endpoints.map((endpoint) => this.#use(endpoint, backend.protocol))
    // Threads begin at different endpoints.
    const next = before?.next ?? this.#random.int(0xffff)
    this.#backends.set(key, { backend, pools, next })
    if (before !== undefined) for (const endpoint of before.backend.endpoints) this.#leave(endpoint, before.backend.protocol)
  }

  delete(key: string): void {
    const entry = this.#backends.get(key)
    if (entry === undefined) return
    this.#backends.delete(key)
    for (const endpoint of entry.backend.endpoints) this.#leave(endpoint, entry.backend.protocol)
  }

  /** The next in turn that was not tried yet; those that could not be reached a moment ago come last. */
  choose(key: string, tried: readonly EndpointPool[]): EndpointPool | undefined {
    const entry = this.#backends.get(key)
    if (entry === undefined) return undefined
    const { pools } = entry
    let second: EndpointPool | undefined
    for (let step = 0; step < pools.length; step++) {
      const pool = pools[(entry.next + step) % pools.length]
      if (pool === undefined || tried.includes(pool)) continue
      if (pool.isAvoided) {
        second ??= pool
        continue
      }
      entry.next = (entry.next + step + 1) % pools.length
      return pool
    }
    return second
  }

  sweep(nowMs: number): void {
    for (const { pool } of this.#pools.values()) pool.sweep(nowMs)
  }

  close(): void {
    for (const { pool } of this.#pools.values()) pool.leave()
  }

  #use(endpoint: Endpoint, protocol: BackendProtocol): EndpointPool {
    const key = poolKey(endpoint, protocol)
    const known = this.#pools.get(key)
    if (known !== undefined) {
      known.users++
      return known.pool
    }
    const pool = new EndpointPool(endpoint, protocol, this.#seams)
    this.#pools.set(key, { pool, users: 1 })
    return pool
  }

  #leave(endpoint: Endpoint, protocol: BackendProtocol): void {
    const key = poolKey(endpoint, protocol)
    const known = this.#pools.get(key)
    if (known === undefined || --known.users > 0) return
    this.#pools.delete(key)
    known.pool.leave()
  }
}
