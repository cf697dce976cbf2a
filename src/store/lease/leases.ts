import type { Clock, Timer } from '#base/clock.ts'
import type { LeaseBook } from '#store/mvcc/mvcc.ts'
import { type Lease, LeaseExistsError, LeaseNotFoundError } from '#store/store.ts'

export type LeaseState = { id: bigint; grantedSeconds: number; deadline: number; keys: Set<string> }

/** The leases with their keys and deadlines. Deadlines are not kept on disk: after a restart every lease has its full time again. */
export class Leases implements LeaseBook {
  readonly #clock: Clock
  readonly #leases = new Map<bigint, LeaseState>()
  readonly #onExpired: (id: bigint) => void
  #timer: { timer: Timer; deadline: number } | undefined
  #lastId = 0n

  /** `onExpired` is called when a lease runs out, and again each second until it is removed. */
  constructor(clock: Clock, onExpired: (id: bigint) => void) {
    this.#clock = clock
    this.#onExpired = onExpired
  }

  add(ttlSeconds: number, asked: bigint): Lease {
    const id = asked || this.#freeId()
    if (this.#leases.has(id)) throw new LeaseExistsError(`lease ${id} exists already`)
    const grantedSeconds = Math.max(1, Math.ceil(ttlSeconds))
    const lease = { id, grantedSeconds, deadline: this.#clock.monotonic() + grantedSeconds * 1000, keys: new Set<string>() }
    this.#leases.set(id, lease)
    this.#wakeAt(lease.deadline)
    return this.#describe(lease)
  }

  /** Takes the lease out; `putBack` undoes it. */
  remove(id: bigint): LeaseState {
    const lease = this.#get(id)
    this.#leases.delete(id)
    return lease
  }

  putBack(lease: LeaseState): void {
    this.#leases.set(lease.id, lease)
    this.#wakeAt(lease.deadline)
  }

  renew(id: bigint): Lease {
    const lease = this.#get(id)
    lease.deadline = this.#clock.monotonic() + lease.grantedSeconds * 1000
    this.#wakeAt(lease.deadline)
    return this.#describe(lease)
  }

  list(): Lease[] {
    return [...this.#leases.values()].map((lease) => this.#describe(lease))
  }

  keysOf(id: bigint): string[] {
    return [...this.#get(id).keys].sort()
  }

  check(id: bigint): void {
    this.#get(id)
  }

  move(key: string, from: bigint, to: bigint): void {
    if (from === to) return
    this.#leases.get(from)?.keys.delete(key)
    this.#leases.get(to)?.keys.add(key)
  }

  close(): void {
    this.#timer?.timer.cancel()
    this.#timer = undefined
  }

  #get(id: bigint): LeaseState {
    const lease = this.#leases.get(id)
    if (!lease) throw new LeaseNotFoundError(`lease ${id} does not exist`)
    return lease
  }

  #describe(lease: LeaseState): Lease {
    const leftMs = Math.max(0, lease.deadline - this.#clock.monotonic())
    return { id: lease.id, ttlSeconds: Math.ceil(leftMs / 1000), grantedSeconds: lease.grantedSeconds }
  }

  /** Rises with time, so that an id is not given twice even across restarts. */
  #freeId(): bigint {
    const byTime = BigInt(this.#clock.now()) << 16n
    this.#lastId = byTime > this.#lastId ? byTime : this.#lastId + 1n
    while (this.#leases.has(this.#lastId)) this.#lastId++
    return this.#lastId
  }

  #wakeAt(deadline: number): void {
    if (this.#timer && this.#timer.deadline <= deadline) return
    this.#timer?.timer.cancel()
    const timer = this.#clock.after(deadline - this.#clock.monotonic(), () => this.#expire())
    this.#timer = { timer, deadline }
  }

  #expire(): void {
    this.#timer = undefined
    const now = this.#clock.monotonic()
    let soonest = Number.POSITIVE_INFINITY
    const expired: bigint[] = []
    for (const lease of this.#leases.values()) {
      if (lease.deadline <= now) {
        expired.push(lease.id)
        // Where the keys cannot be deleted now, it is tried again a second later.
        lease.deadline = now + 1000
      }
      soonest = Math.min(soonest, lease.deadline)
    }
    for (const id of expired) this.#onExpired(id)
    if (soonest < Number.POSITIVE_INFINITY) this.#wakeAt(soonest)
  }
}
