import type { RequestInfo } from '#apiserver/http/request-info.ts'
import type { Clock } from '#base/clock.ts'
import { shortKey } from '#base/short-key.ts'

/** A request that holds the server for so long takes a seat more than one that holds it for nothing. */
const msPerSeat = 20
const mostSeats = 10
/** What was measured last counts for so much. */
const newestShare = 0.3
/** What nobody has asked for lately is forgotten. */
const keptMs = 60_000
const keptCosts = 2000

type Cost = { averageMs: number; seenMs: number }

/** For how long requests of a client have kept the server from others, by what they ask for: the next ones take seats accordingly. */
export class MeasuredCosts {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #costs = new Map<string, Cost>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  observe(user: string, info: RequestInfo, heldMs: number): void {
    const key = keyOf(user, info)
    const known = this.#costs.get(key)
    // Most cost next to nothing, and are not worth a line.
    if (known === undefined && heldMs < msPerSeat / 2) return
    if (known === undefined && this.#costs.size >= keptCosts) this.#costs.clear()
    const averageMs = known === undefined ? heldMs : known.averageMs * (1 - newestShare) + heldMs * newestShare
    this.#costs.set(key, { averageMs, seenMs: this.#clock.monotonic() })
  }

  /** One at least. */
  seatsFor(user: string, info: RequestInfo): number {
    if (this.#costs.size === 0) return 1
    const key = keyOf(user, info)
    const known = this.#costs.get(key)
    if (known === undefined) return 1
    if (this.#clock.monotonic() - known.seenMs > keptMs) {
      this.#costs.delete(key)
      return 1
    }
    return Math.min(mostSeats, 1 + Math.floor(known.averageMs / msPerSeat))
  }
}

function keyOf(user: string, { verb, group, resource, subresource }: RequestInfo): string {
  return shortKey(`${verb} ${resource}.${group}/${subresource} ${user}`)
}
