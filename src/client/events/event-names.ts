import type { Clock } from '#base/clock.ts'

/** How many names were given by a clock: several recorders of a process may speak of an object at the same moment. */
const counts = new WeakMap<Clock, { given: number }>()

/** Names of events: the object's, and the moment in hexadecimal nanoseconds. */
export class EventNames {
  readonly #clock: Clock
  readonly #count: { given: number }

  constructor(clock: Clock) {
    this.#clock = clock
    this.#count = counts.get(clock) ?? { given: 0 }
    counts.set(clock, this.#count)
  }

  next(objectName: string): string {
    // They are unique as long as the clock moves on; the count helps where it does not.
    const moment = BigInt(this.#clock.nowMicros()) * 1000n + BigInt(this.#count.given++ % 1000)
    return `${objectName}.${moment.toString(16)}`
  }
}
