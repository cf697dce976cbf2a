import type { Clock } from '#base/clock.ts'

export type Pulled = { imageRef: string; sizeBytes: number; pullMs: number }

/** Pulls images, so many at a time; whoever wants one that is being pulled waits for the same. */
export class PullQueue {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #maxParallel: number
  readonly #pulls = new Map<string, Promise<Pulled>>()
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(clock: Pick<Clock, 'monotonic'>, maxParallel: number) {
    this.#clock = clock
    this.#maxParallel = maxParallel
  }

  pull(key: string, pull: () => Promise<{ imageRef: string; sizeBytes: number }>): Promise<Pulled> {
    const known = this.#pulls.get(key)
    if (known !== undefined) return known
    const pulled = this.#inTurn(pull).finally(() => this.#pulls.delete(key))
    this.#pulls.set(key, pulled)
    return pulled
  }

  async #inTurn(pull: () => Promise<{ imageRef: string; sizeBytes: number }>): Promise<Pulled> {
    if (this.#running >= this.#maxParallel) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    const startMs = this.#clock.monotonic()
    try {
      return { ...(await pull()), pullMs: this.#clock.monotonic() - startMs }
    } finally {
      // The place is handed on, or given back.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
