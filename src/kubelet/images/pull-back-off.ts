import type { Clock } from '#base/clock.ts'

type Entry = { delayMs: number; sinceMs: number; reason: string }

const firstDelayMs = 10_000
const longestDelayMs = 300_000
const forgottenAfterMs = 2 * longestDelayMs

/** How long to wait after pulls that failed: twice as long each time. */
export class PullBackOff {
  readonly #clock: Pick<Clock, 'now'>
  readonly #entries = new Map<string, Entry>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** What has to be waited still, and why; undefined when nothing has. */
  waiting(key: string): { leftMs: number; reason: string } | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    const leftMs = entry.sinceMs + entry.delayMs - this.#clock.now()
    return leftMs > 0 ? { leftMs, reason: entry.reason } : undefined
  }

  failed(key: string, reason: string): void {
    const nowMs = this.#clock.now()
    const last = this.#entries.get(key)
    const isForgotten = last === undefined || nowMs - last.sinceMs > forgottenAfterMs
    this.#entries.set(key, { delayMs: isForgotten ? firstDelayMs : Math.min(longestDelayMs, last.delayMs * 2), sinceMs: nowMs, reason })
    for (const [other, { sinceMs }] of this.#entries) if (nowMs - sinceMs > forgottenAfterMs) this.#entries.delete(other)
  }
}
