import type { Clock } from '#base/clock.ts'

/** Whoever has something to write when its turn comes. */
export type TurnTaker = { takeTurn(shared: SharedBytes): void }

/** Bytes that were made in this turn, for others who need the same. */
export class SharedBytes {
  readonly #made = new Map<string, Uint8Array>()

  get(key: string, make: () => Uint8Array): Uint8Array {
    let bytes = this.#made.get(key)
    if (bytes === undefined) {
      bytes = make()
      this.#made.set(key, bytes)
    }
    return bytes
  }
}

/** Everybody else gets a turn after so long. */
const turnMs = 5

/**
 * Lets watches write once for all that happened in a turn of the event loop: a thousand clients that see the same changes are
 * sent the same bytes, made once.
 */
export class WatchTurns {
  readonly #clock: Clock
  #waiting: TurnTaker[] = []
  #isComing = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `taker` gets its turn soon, once. */
  ask(taker: TurnTaker): void {
    this.#waiting.push(taker)
    if (this.#isComing) return
    this.#isComing = true
    this.#clock.soon(this.#run)
  }

  readonly #run = (): void => {
    const takers = this.#waiting
    this.#waiting = []
    const shared = new SharedBytes()
    const startMs = this.#clock.monotonic()
    for (let index = 0; index < takers.length; index++) {
      takers[index]?.takeTurn(shared)
      if (index % 16 !== 15 || this.#clock.monotonic() - startMs < turnMs) continue
      // Those who are left come before those who asked meanwhile.
      this.#waiting = [...takers.slice(index + 1), ...this.#waiting]
      break
    }
    this.#isComing = this.#waiting.length > 0
    if (this.#isComing) this.#clock.soon(this.#run)
  }
}
