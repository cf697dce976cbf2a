import type { Clock } from '#base/clock.ts'

/** Names of events: the object's, and the moment in hexadecimal nanoseconds. */
export class EventNames {
  readonly #clock: Clock
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  next(objectName: string): string {
    // They are unique as long as the clock moves on; the count helps where it does not.
    const moment = BigInt(this.#clock.nowMicros()) * 1000n + BigInt(this.#count++ % 1000)
    return `${objectName}.${moment.toString(16)}`
  }
}
