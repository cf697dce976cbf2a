import type { Clock } from '#base/clock.ts'

/** Of each turn of the event loop, requests have about so long. */
const turnMs = 8

/**
 * Lets requests that come by the hundred take turns with sockets and timers. Those from within the process never leave the
 * queue of promises by themselves: each answer leads to the next request, and a thousand nodes with something to do would keep
 * everybody else waiting until they are done. Those of one connection arrive as one piece when its client sends them so. What others
 * have done in the same turn does not count: a client that reads must not wait the longer for somebody's large write.
 */
export class RequestTurns {
  readonly #clock: Clock
  /** Those who wait, by connection; the connection whose turn is next comes first. */
  readonly #lanes = new Map<object, Lane>()
  /** From the first who has to wait until nobody does: who comes meanwhile comes after. */
  #isDraining = false
  /** When the first of this turn came. */
  #sinceMs: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Runs `step` at once or, when the event loop has been held for long enough, in a later turn. Those of one connection in order, and
   * connections in turn: who sends a thousand requests waits for them himself. Steps that are over by then are left out.
   */
  take(step: () => void, of: object = this, isOver?: () => boolean): void {
    if (this.isInTurn) {
      step()
      return
    }
    const lane = this.#lanes.get(of)
    if (lane === undefined) this.#lanes.set(of, { steps: [{ step, isOver }], next: 0 })
    else lane.steps.push({ step, isOver })
    if (this.#isDraining) return
    this.#isDraining = true
    this.#clock.soon(this.#runTurn)
  }

  /** Whether `take` would run a step at once. */
  get isInTurn(): boolean {
    return !this.#isDraining && this.#hasTime()
  }

  #hasTime(): boolean {
    // Nobody waits where time is virtual.
    if (this.#clock.heldMs() === 0) return true
    const nowMs = this.#clock.monotonic()
    if (this.#sinceMs === undefined) {
      this.#sinceMs = nowMs
      this.#clock.soon(this.#endTurn)
    }
    return nowMs - this.#sinceMs < turnMs
  }

  readonly #endTurn = (): void => {
    this.#sinceMs = undefined
  }

  readonly #runTurn = (): void => {
    this.#sinceMs = this.#clock.monotonic()
    this.#runOne()
  }

  readonly #runOne = (): void => {
    const step = this.#nextStep()
    if (step === undefined) {
      this.#isDraining = false
      this.#sinceMs = undefined
      return
    }
    try {
      step()
    } finally {
      // One that fails does not keep the others from theirs.
      queueMicrotask(this.#runMore)
    }
  }

  /** One step, and then what follows from it, before the next: only so it shows how long they take. */
  readonly #runMore = (): void => {
    if (this.#lanes.size === 0 || this.#hasTime()) {
      this.#runOne()
      return
    }
    this.#clock.soon(this.#runTurn)
  }

  #nextStep(): (() => void) | undefined {
    for (const [of, lane] of this.#lanes) {
      this.#lanes.delete(of)
      const found = takeFrom(lane)
      if (lane.next < lane.steps.length) this.#lanes.set(of, lane)
      if (found !== undefined) return found
    }
    return undefined
  }
}

type Lane = { steps: Waiting[]; next: number }
type Waiting = { step: () => void; isOver: (() => boolean) | undefined }

function takeFrom(lane: Lane): (() => void) | undefined {
  while (lane.next < lane.steps.length) {
    const { step, isOver } = lane.steps[lane.next++] as Waiting
    if (isOver?.() !== true) return step
  }
  return undefined
}
