import type { Clock, Timer } from '#base/clock.ts'
import { controllerRateLimiter, type RateLimiter } from '#client/work-queue/rate-limiter.ts'

/** Hears of what happens in a queue, for metrics. */
export type WorkQueueObserver = {
  added?(depth: number): void
  /** How long the key has waited. */
  taken?(waitedMs: number, depth: number): void
  done?(workedMs: number): void
  retried?(): void
}

export type WorkQueueOptions = {
  clock: Clock
  rateLimiter?: RateLimiter
  observer?: WorkQueueObserver
  /** Keys of the same group wait for each other; groups take turns, so that a large one does not starve the others. */
  groupOf?(key: string): string
}

/**
 * Keys that wait to be looked at.
 *
 * A key is in the queue at most once however often it is added, is never with two workers at once, and is looked at again
 * after it was added while a worker had it.
 */
export class WorkQueue {
  readonly #clock: Clock
  readonly #rateLimiter: RateLimiter
  readonly #observer: WorkQueueObserver
  readonly #groupOf: (key: string) => string
  /** Keys that wait, with the time since when, by group; the groups in order of their next turn. */
  readonly #waiting = new Map<string, Map<string, number>>()
  readonly #working = new Map<string, number>()
  readonly #again = new Set<string>()
  readonly #delayed = new Map<string, { dueMs: number; timer: Timer }>()
  readonly #workers: ((key: string | undefined) => void)[] = []
  #depth = 0
  #isShutDown = false

  constructor({ clock, rateLimiter = controllerRateLimiter(clock), observer = {}, groupOf = () => '' }: WorkQueueOptions) {
    this.#clock = clock
    this.#rateLimiter = rateLimiter
    this.#observer = observer
    this.#groupOf = groupOf
  }

  /** Keys that wait for a worker; those that are delayed are not among them. */
  get depth(): number {
    return this.#depth
  }
  get delayed(): number {
    return this.#delayed.size
  }
  /** When work on each key began, in monotonic milliseconds. */
  get working(): ReadonlyMap<string, number> {
    return this.#working
  }
  get isIdle(): boolean {
    return this.#depth === 0 && this.#working.size === 0
  }

  add(key: string): void {
    if (this.#isShutDown) return
    if (this.#working.has(key)) {
      this.#again.add(key)
      return
    }
    const group = this.#groupOf(key)
    let keys = this.#waiting.get(group)
    if (keys?.has(key)) return
    if (keys === undefined) {
      keys = new Map()
      this.#waiting.set(group, keys)
    }
    keys.set(key, this.#clock.monotonic())
    this.#depth++
    this.#observer.added?.(this.#depth)
    const worker = this.#workers.shift()
    if (worker !== undefined) worker(this.#take())
  }

  /** Adds the key later; the earliest of several times counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#isShutDown) return
    if (delayMs <= 0) {
      this.add(key)
      return
    }
    const dueMs = this.#clock.monotonic() + delayMs
    const known = this.#delayed.get(key)
    if (known !== undefined) {
      if (known.dueMs <= dueMs) return
      known.timer.cancel()
    }
    const timer = this.#clock.after(delayMs, () => {
      this.#delayed.delete(key)
      this.add(key)
    })
    this.#delayed.set(key, { dueMs, timer })
  }

  /** Adds the key after a wait that grows with its failures. */
  addRateLimited(key: string): void {
    this.#observer.retried?.()
    this.addAfter(key, this.#rateLimiter.delayMs(key))
  }

  /** The key has succeeded: its next failure counts as the first. */
  forget(key: string): void {
    this.#rateLimiter.forget(key)
  }
  failures(key: string): number {
    return this.#rateLimiter.failures(key)
  }

  /** The next key, as soon as there is one; undefined when the queue is shut down. Must be followed by `done`. */
  get(): Promise<string | undefined> {
    if (this.#depth > 0) return Promise.resolve(this.#take())
    if (this.#isShutDown) return Promise.resolve(undefined)
    return new Promise((resolve) => this.#workers.push(resolve))
  }

  done(key: string): void {
    const startedMs = this.#working.get(key)
    this.#working.delete(key)
    if (startedMs !== undefined) this.#observer.done?.(this.#clock.monotonic() - startedMs)
    if (this.#again.delete(key)) this.add(key)
  }

  shutDown(): void {
    this.#isShutDown = true
    for (const { timer } of this.#delayed.values()) timer.cancel()
    this.#delayed.clear()
    this.#waiting.clear()
    this.#again.clear()
    this.#depth = 0
    for (const worker of this.#workers.splice(0)) worker(undefined)
  }

  #take(): string | undefined {
    const next = this.#waiting.entries().next().value
    const first = next?.[1].entries().next().value
    if (next === undefined || first === undefined) return undefined
    const [group, keys] = next
    const [key, sinceMs] = first
    keys.delete(key)
    this.#waiting.delete(group)
    if (keys.size > 0) this.#waiting.set(group, keys)
    this.#depth--
    const nowMs = this.#clock.monotonic()
    this.#working.set(key, nowMs)
    this.#observer.taken?.(nowMs - sinceMs, this.#depth)
    return key
  }
}
