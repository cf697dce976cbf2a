import type { Clock, Timer } from '#base/clock.ts'

/** How long askers wait for the answer to somebody else's question before they ask one of their own. */
const longestWaitMs = 10

type Batch<T> = { answer: Promise<T>; begin(): void }

/**
 * A question whose answer must not be older than the asking: many askers share one, but only one that was put after they had asked.
 * While one is under way, those who come wait for the next, so that however many ask there is about one at a time.
 */
export class SharedQuestion<T> {
  readonly #clock: Clock
  readonly #put: () => Promise<T>
  #underWay = 0
  /** Not put yet: may be shared. */
  #next: Batch<T> | undefined
  #timer: Timer | undefined

  constructor(clock: Clock, put: () => Promise<T>) {
    this.#clock = clock
    this.#put = put
  }

  ask(): Promise<T> {
    if (this.#underWay === 0) return this.#begin()
    if (this.#next === undefined) {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      this.#next = { answer: promise, begin: () => void this.#begin().then(resolve, reject) }
      // One that is not answered, since a server is gone, must not keep up those who could be answered.
      this.#timer = this.#clock.after(longestWaitMs, () => this.#beginNext())
    }
    return this.#next.answer
  }

  async #begin(): Promise<T> {
    this.#underWay++
    try {
      return await this.#put()
    } finally {
      this.#underWay--
      this.#beginNext()
    }
  }

  #beginNext(): void {
    this.#timer?.cancel()
    const next = this.#next
    this.#next = undefined
    next?.begin()
  }
}
