import { backoffMs } from '#base/backoff.ts'
import type { Clock, Timer } from '#base/clock.ts'

export type SyncLoopOptions = {
  clock: Clock
  /** Between the beginnings of two runs. */
  minMs: number
  /** A run that nobody asked for comes this long after the last. */
  maxMs: number
  /** `isDue`: nobody asked. Rejects where it failed: then it is run again soon, later each time. */
  run(isDue: boolean): Promise<void>
  onFailure(error: unknown, retryMs: number): void
}

const firstRetryMs = 200

/**
 * Runs one thing at a time: at once when asked after a quiet while, else as soon as `minMs` allow.
 *
 * ```
 * idle ──request──> waiting (minMs since the last) ──> running ──requested meanwhile──> waiting
 *   └─────────────────────maxMs──────────────────────────^└──failed──> waiting (a while)
 * ```
 */
export class SyncLoop {
  readonly #options: SyncLoopOptions
  #timer: Timer | undefined
  #timerDueMs = 0
  #lastMs: number | undefined
  #isRunning = false
  #isRequested = false
  #failures = 0
  #isStopped = false
  #idle: (() => void)[] = []

  constructor(options: SyncLoopOptions) {
    this.#options = options
  }

  request(): void {
    this.#isRequested = true
    if (!this.#isRunning) this.#schedule()
  }

  /** Resolves when the run that goes on now, if any, is over; none follows. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    if (this.#isRunning) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #schedule(): void {
    if (this.#isStopped || this.#isRunning) return
    const { clock, minMs, maxMs } = this.#options
    const nowMs = clock.monotonic()
    const sinceMs = this.#lastMs === undefined ? Number.POSITIVE_INFINITY : nowMs - this.#lastMs
    const retryMs = this.#retryMs()
    const wait = this.#failures > 0 ? retryMs : this.#isRequested ? minMs : maxMs
    const dueMs = nowMs + Math.max(0, wait - sinceMs)
    if (this.#timer !== undefined) {
      if (this.#timerDueMs <= dueMs) return
      this.#timer.cancel()
    }
    this.#timerDueMs = dueMs
    this.#timer = clock.after(dueMs - nowMs, () => void this.#run())
  }

  #retryMs(): number {
    const { minMs, maxMs } = this.#options
    return Math.min(maxMs, Math.max(minMs, backoffMs(this.#failures, { firstMs: firstRetryMs, longestMs: maxMs })))
  }

  async #run(): Promise<void> {
    const isDue = !this.#isRequested && this.#failures === 0
    this.#timer = undefined
    this.#isRequested = false
    this.#isRunning = true
    this.#lastMs = this.#options.clock.monotonic()
    try {
      await this.#options.run(isDue)
      this.#failures = 0
    } catch (error) {
      this.#failures = Math.min(this.#failures + 1, 20)
      this.#options.onFailure(error, this.#retryMs())
    }
    this.#isRunning = false
    for (const resolve of this.#idle.splice(0)) resolve()
    this.#schedule()
  }
}
