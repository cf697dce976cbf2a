import type { Clock } from '#base/clock.ts'
import { type BackOff, isForgotten, nextBackOff } from '#kubelet/pod-worker/back-off.ts'

type Entry = BackOff & { reason: string }

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
    this.#entries.set(key, { ...nextBackOff(this.#entries.get(key), nowMs, nowMs), reason })
    for (const [other, entry] of this.#entries) if (isForgotten(entry, nowMs)) this.#entries.delete(other)
  }
}
