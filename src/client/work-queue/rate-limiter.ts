import { backoffMs } from '#base/backoff.ts'
import type { Clock } from '#base/clock.ts'

/** How long a key must wait before it is tried again. */
export type RateLimiter = {
  delayMs(key: string): number
  failures(key: string): number
  forget(key: string): void
}

/** Each failure of a key doubles its wait. */
export function exponentialRateLimiter({ baseMs = 5, maxMs = 1_000_000 }: { baseMs?: number; maxMs?: number } = {}): RateLimiter {
  const failures = new Map<string, number>()
  return {
    delayMs(key) {
      const count = failures.get(key) ?? 0
      failures.set(key, count + 1)
      return backoffMs(count, { firstMs: baseMs, longestMs: maxMs })
    },
    failures: (key) => failures.get(key) ?? 0,
    forget(key) {
      failures.delete(key)
    },
  }
}

/** So many a second, whatever the key, with some in advance. */
export class TokenBucket {
  readonly #clock: Clock
  readonly #perSecond: number
  readonly #burst: number
  #tokens: number
  #atMs: number

  constructor(clock: Clock, { perSecond, burst }: { perSecond: number; burst: number }) {
    this.#clock = clock
    this.#perSecond = perSecond
    this.#burst = burst
    this.#tokens = burst
    this.#atMs = clock.now()
  }

  /** Takes a token if there is one. */
  tryTake(): boolean {
    this.#refill()
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  /** Takes a token now or in advance; tells how long to wait until it is there. */
  reserveMs(): number {
    this.#refill()
    this.#tokens--
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#perSecond) * 1000
  }

  #refill(): void {
    const nowMs = this.#clock.now()
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#atMs) / 1000) * this.#perSecond)
    this.#atMs = nowMs
  }
}

/** What controllers use: the key's own wait, or that of all retries together, whichever is longer. */
export function controllerRateLimiter(clock: Clock): RateLimiter {
  const perKey = exponentialRateLimiter()
  const overall = new TokenBucket(clock, { perSecond: 10, burst: 100 })
  return { ...perKey, delayMs: (key) => Math.max(perKey.delayMs(key), overall.reserveMs()) }
}
