import type { Clock, Timer } from '#base/clock.ts'
import type { FlightRecord } from '#base/flight-record.ts'
import type { Logger } from '#base/log.ts'
import type { Counter, Histogram, Metrics } from '#base/metrics.ts'
import type { ThreadTime } from '#base/thread-time.ts'

/** What a request looks like in the log. */
export type WatchedRequest = { verb: string; path: string; user: string; sizeBytes: number }

export type StallWatchOptions = {
  clock: Clock
  logger: Logger
  metrics: Metrics
  threadMs: ThreadTime
  record?: Pick<FlightRecord, 'note'> | undefined
}

/** Nobody is answered for longer than this because of one request, or it is told of. */
const stallMs = 50
const tickMs = 20
const logEveryMs = 1000
/** Of those that are being served, the largest are named. */
const named = 3
/** A request of this size is noted before it is looked at; others when they take longer than a tick. */
const notedBytes = 16 * 1024
const notedRequests = 20

/**
 * Notices when this process answers nobody for a while, and says what it was serving then. Looks only while something is being served:
 * a request that is answered at once is measured by `ended`, the others by a timer that comes late.
 */
export class StallWatch implements Disposable {
  readonly #options: StallWatchOptions
  readonly #serving = new Map<object, () => WatchedRequest>()
  readonly #stalls: Counter
  /** Those that were this process' own doing: the others come from a machine that is busy with something else. */
  readonly #ownStalls: Counter
  readonly #lengths: Histogram
  #timer: Timer | undefined
  #tickedMs = 0
  #threadMs = 0
  #isNoted = false
  #loggedMs = Number.NEGATIVE_INFINITY

  constructor(options: StallWatchOptions) {
    this.#options = options
    this.#stalls = options.metrics.counter('apiserver_event_loop_stalls_total', 'How often nobody was answered for more than 50 ms')
    this.#ownStalls = options.metrics.counter(
      'apiserver_event_loop_busy_stalls_total',
      'How often nobody was answered for more than 50 ms of processor time of this process',
    )
    const buckets = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
    this.#lengths = options.metrics.histogram('apiserver_event_loop_stall_duration_seconds', 'For how long nobody was answered', buckets)
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** A request that was served in one go, since `startedMs` of the monotonic clock. */
  ended(startedMs: number, request: () => WatchedRequest): void {
    const heldMs = this.#options.clock.monotonic() - startedMs
    if (heldMs > stallMs) this.#stalled(heldMs, [request()])
  }

  /** A request that waits for something; `leave` it with the same key. */
  enter(key: object, request: () => WatchedRequest): void {
    const { clock } = this.#options
    this.#serving.set(key, request)
    if (request().sizeBytes >= notedBytes) this.#note()
    if (this.#timer !== undefined) return
    this.#tickedMs = clock.monotonic()
    this.#threadMs = this.#options.threadMs()
    this.#timer = clock.every(tickMs, () => this.#tick())
  }

  leave(key: object): void {
    this.#serving.delete(key)
    if (this.#serving.size > 0) return
    this[Symbol.dispose]()
    if (this.#isNoted) this.#note()
  }

  /** What is being served, for those who find this process gone. */
  #note(): void {
    const { record } = this.#options
    if (record === undefined) return
    this.#isNoted = this.#serving.size > 0
    // Of thousands the first tell enough.
    const some = [...this.#serving.values().take(notedRequests)].map((each) => each())
    record.note(largestOf(some, notedRequests).map(shown).join('\n'))
  }

  #tick(): void {
    this.#note()
    const nowMs = this.#options.clock.monotonic()
    const heldMs = nowMs - this.#tickedMs - tickMs
    this.#tickedMs = nowMs
    if (heldMs <= stallMs) this.#threadMs = this.#options.threadMs()
    else
      this.#stalled(
        heldMs,
        [...this.#serving.values()].map((each) => each()),
      )
  }

  #stalled(heldMs: number, requests: readonly WatchedRequest[]): void {
    const nowThreadMs = this.#options.threadMs()
    const busyMs = Math.min(heldMs, nowThreadMs - this.#threadMs)
    this.#threadMs = nowThreadMs
    this.#stalls.inc()
    if (busyMs > stallMs) this.#ownStalls.inc()
    this.#lengths.observe(heldMs / 1000)
    const { clock, logger } = this.#options
    const nowMs = clock.monotonic()
    if (nowMs - this.#loggedMs < logEveryMs) return
    this.#loggedMs = nowMs
    logger.warn('event loop stalled', {
      stallMs: Math.round(heldMs),
      busyMs: Math.round(busyMs),
      serving: requests.length,
      requests: largestOf(requests, named).map(shown).join(', '),
    })
  }
}

function largestOf(requests: readonly WatchedRequest[], count: number): WatchedRequest[] {
  return requests.toSorted((one, other) => other.sizeBytes - one.sizeBytes).slice(0, count)
}

const shown = ({ verb, path, user, sizeBytes }: WatchedRequest) => `${verb} ${path} by ${user || 'nobody yet'} (${sizeBytes} bytes)`
