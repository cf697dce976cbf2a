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
/** Writing to everybody may take a third of the time; changes that come meanwhile are written together. */
const restShare = 2
const longestRestMs = 25

/**
 * Lets watches write once for all that happened in a turn of the event loop: a thousand clients that see the same changes are
 * sent the same bytes, made once. The longer that takes, the longer the next changes are gathered before it is done again.
 */
export class WatchTurns {
  readonly #clock: Clock
  readonly #rests: boolean
  #waiting: TurnTaker[] = []
  #isComing = false
  /** How long writing has taken since the last rest. */
  #busyMs = 0
  #restUntilMs = 0

  /** Those who wait in this process need no rest: their turn costs next to nothing. */
  constructor(clock: Clock, { rests }: { rests: boolean }) {
    this.#clock = clock
    this.#rests = rests
  }

  /** `taker` gets its turn soon, once. */
  ask(taker: TurnTaker): void {
    this.#waiting.push(taker)
    if (this.#isComing) return
    this.#isComing = true
    const restMs = this.#restUntilMs - this.#clock.monotonic()
    if (restMs > 0) this.#clock.after(restMs, this.#run)
    else this.#clock.soon(this.#run)
  }

  readonly #run = (): void => {
    const takers = this.#waiting
    this.#waiting = []
    const shared = new SharedBytes()
    const startMs = this.#clock.monotonic()
    for (let index = 0; index < takers.length; index++) {
      takers[index]?.takeTurn(shared)
      if (this.#clock.monotonic() - startMs < turnMs) continue
      // Those who are left come before those who asked meanwhile.
      this.#waiting = [...takers.slice(index + 1), ...this.#waiting]
      break
    }
    const endMs = this.#clock.monotonic()
    this.#busyMs += endMs - startMs
    this.#isComing = this.#waiting.length > 0
    if (this.#isComing) {
      this.#clock.soon(this.#run)
      return
    }
    if (this.#rests && this.#busyMs > 1) this.#restUntilMs = endMs + Math.min(this.#busyMs * restShare, longestRestMs)
    this.#busyMs = 0
  }
}
