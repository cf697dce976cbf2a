import type { Clock } from '#base/clock.ts'

/** The event loop gets to its sockets again after about so long. */
const turnMs = 8

/**
 * Lets requests from within the process take turns with sockets and timers. They never leave the queue of promises by
 * themselves: each answer leads to the next request, and a thousand nodes with something to do would keep everybody else
 * waiting until they are done.
 */
export class OwnTurns {
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
    if (this.#waiting.length === 1) this.#clock.soon(this.#run)
  }

  /** One step, and then what follows from it, before the next: only so it shows how long they take. */
  readonly #run = (): void => {
    const step = this.#waiting[this.#next]
    if (step === undefined) {
      this.#waiting = []
      this.#next = 0
      return
    }
    if (this.#clock.heldMs() >= turnMs) {
      this.#waiting.splice(0, this.#next)
      this.#next = 0
      this.#clock.soon(this.#run)
      return
    }
    this.#next++
    step()
    queueMicrotask(this.#run)
  }
}
