import type { Clock } from '#base/clock.ts'

/** While more than this many others are under way, they are what the process is busy with. */
const fewRequests = 8
/** One begins after so many others have ended, though these have no end. */
const othersBetween = 16

/** Requests of this process that nobody waits for, events above all: they begin when there is little else to do. */
export class LaterRequests {
  readonly #clock: Pick<Clock, 'soon' | 'heldMs'>
  #underWay = 0
  #endedSince = 0
  #isLookingSoon = false
  readonly #waiting: (() => void)[] = []

  constructor(clock: Pick<Clock, 'soon' | 'heldMs'>) {
    this.#clock = clock
  }

  begin(request: () => void): void {
    this.#waiting.push(request)
    if (this.#underWay < fewRequests) this.#look()
  }

  /** Any request of this process has begun, one of these or another. */
  entered(): void {
    this.#underWay++
  }

  left(): void {
    this.#underWay--
    if (this.#waiting.length === 0) return
    if (++this.#endedSince >= othersBetween) this.#beginOne()
    if (this.#underWay < fewRequests) this.#look()
  }

  /** Many end together, and each leads to the next request of somebody: those go first, hence not at once. */
  #look(): void {
    // Nobody waits where time is virtual.
    if (this.#clock.heldMs() === 0) this.#beginSome()
    else if (!this.#isLookingSoon) {
      this.#isLookingSoon = true
      this.#clock.soon(this.#lookNow)
    }
  }

  readonly #lookNow = (): void => {
    this.#isLookingSoon = false
    this.#beginSome()
  }

  #beginSome(): void {
    // More than one: some may have been given up meanwhile, and end nowhere.
    while (this.#underWay < fewRequests && this.#waiting.length > 0) this.#beginOne()
  }

  #beginOne(): void {
    this.#endedSince = 0
    this.#waiting.shift()?.()
  }
}
