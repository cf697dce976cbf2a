import type { Clock } from '#base/clock.ts'

/** Keeps values for a limited time, and no more than so many: the longest unused go first. */
export class ExpiringCache<V> {
  readonly #clock: Clock
  readonly #capacity: number
  /** In order of last use. */
  readonly #entries = new Map<string, { value: V; untilMs: number }>()

  constructor(clock: Clock, capacity: number) {
    this.#clock = clock
    this.#capacity = capacity
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    if (this.#clock.monotonic() >= entry.untilMs) return undefined
    this.#entries.set(key, entry)
    return entry.value
  }

  set(key: string, value: V, ttlMs: number): void {
    this.#entries.delete(key)
    if (ttlMs <= 0) return
    if (this.#entries.size >= this.#capacity) this.#entries.delete(this.#entries.keys().next().value ?? '')
    this.#entries.set(key, { value, untilMs: this.#clock.monotonic() + ttlMs })
  }

  get size(): number {
    return this.#entries.size
  }
}
