import type { Clock } from '#base/clock.ts'

/** The event loop gets to its sockets again after about so long. */
const turnMs = 8

/**
 * Lets requests that come by the hundred take turns with sockets and timers. Those from within the process never leave the
 * queue of promises by themselves: each answer leads to the next request, and a thousand nodes with something to do would keep
 * everybody else waiting until they are done. Those of one connection arrive as one piece when its client sends them so.
 */
export class RequestTurns {
  readonly #clock: Clock
  #waiting: (() => void)[] = []
  #next = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Runs `step` at once or, when the event loop has been held for long enough, in a later turn; in order. */
  take(step: () => void): void {
    if (this.#waiting.length === 0 && this.#clock.heldMs() < turnMs) {
      step()
      return
    }
    this.#waiting.push(step)
    if (this.#waiting.length === 1) this.#clock.soon(this.#runOne)
  }

  /** One in each turn at least, though others have used it up. */
  readonly #runOne = (): void => {
    const step = this.#waiting[this.#next]
    if (step === undefined) {
      this.#waiting = []
      this.#next = 0
      return
    }
    this.#next++
    step()
    queueMicrotask(this.#runMore)
  }

  /** One step, and then what follows from it, before the next: only so it shows how long they take. */
  readonly #runMore = (): void => {
    if (this.#next === this.#waiting.length || this.#clock.heldMs() < turnMs) {
      this.#runOne()
      return
    }
    this.#waiting.splice(0, this.#next)
    this.#next = 0
    this.#clock.soon(this.#runOne)
  }
}
