/** Answers of the API server that hold for a while, so that it is not asked the same thing for each request. */
import type { Clock } from '#base/clock.ts'

const mostEntries = 4096

export class Remembered<T> {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #entries = new Map<string, { value: T; untilMs: number }>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    return entry !== undefined && this.#clock.monotonic() < entry.untilMs ? entry.value : undefined
  }

  set(key: string, value: T, lastsMs: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, untilMs: this.#clock.monotonic() + lastsMs })
    // The oldest is the first.
    if (this.#entries.size > mostEntries) this.#entries.delete(this.#entries.keys().next().value as string)
  }
}
