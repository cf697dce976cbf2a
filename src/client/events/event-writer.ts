import { StatusError } from '#api/meta/status-error.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Client } from '#client/client.ts'
import { TokenBucket } from '#client/work-queue/rate-limiter.ts'

export type EventWriterOptions = {
  client: Client
  clock: Clock
  logger: Logger
  /** Events beyond wait for their turn; absent: none does. */
  limit?: { perSecond: number; burst: number }
}

/** Events are written behind everything else, and looked at by nobody here. */
export const nobodyWaits = { onlyReadsAnswer: true, goesLast: true } as const

/** More than this many events that could not be written yet are not kept. */
const backlogLimit = 10_000
const triesLimit = 12
const pauseMs = 10_000
/** What is still to be written when a recorder is closed has this long. */
const closingMs = 1000

/** Writes events one after the other, patiently while the server cannot be reached, and drops what it refuses. */
export class EventWriter {
  readonly #options: EventWriterOptions
  readonly #closed = new AbortController()
  readonly #bucket: TokenBucket | undefined
  #backlog = 0
  #last: Promise<void> = Promise.resolve()
  /** After this, which is known once it is closed, what waits is written no more. */
  #endMs = Number.POSITIVE_INFINITY

  constructor(options: EventWriterOptions) {
    this.#options = options
    this.#bucket = options.limit && new TokenBucket(options.clock, options.limit)
  }

  get isFull(): boolean {
    return this.#backlog >= backlogLimit
  }

  write(reason: string, attempt: () => Promise<unknown>): void {
    if (this.isFull) return
    this.#backlog++
    this.#last = this.#last.then(async () => {
      await this.#try(reason, attempt)
      this.#backlog--
    })
  }

  /** Resolves when everything so far is written, or lost. */
  flush(): Promise<void> {
    return this.#last
  }

  /** Does not wait for servers that cannot be reached, nor for long. */
  close(): Promise<void> {
    if (!this.#closed.signal.aborted) this.#endMs = this.#options.clock.monotonic() + closingMs
    this.#closed.abort()
    return this.#last
  }

  async #try(reason: string, attempt: () => Promise<unknown>): Promise<void> {
    const { clock, logger } = this.#options
    const { signal } = this.#closed
    if (clock.monotonic() > this.#endMs) return
    const waitMs = this.#bucket?.reserveMs() ?? 0
    if (waitMs > 0) await clock.sleep(waitMs, signal).catch(() => undefined)
    for (let tries = 1; ; tries++) {
      try {
        await attempt()
        return
      } catch (error) {
        if (error instanceof StatusError || tries >= triesLimit || signal.aborted) {
          // Neither will it be reached for those that still wait.
          if (signal.aborted && !(error instanceof StatusError)) this.#endMs = Number.NEGATIVE_INFINITY
          logger.debug('failed to write event', { reason, error: String(error) })
          return
        }
      }
      await clock.sleep(pauseMs, signal).catch(() => undefined)
    }
  }
}
