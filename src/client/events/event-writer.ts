import { StatusError } from '#api/meta/status-error.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Client } from '#client/client.ts'

export type EventWriterOptions = { client: Client; clock: Clock; logger: Logger }

/** More than this many events that could not be written yet are not kept. */
const backlogLimit = 1000
const triesLimit = 12
const pauseMs = 10_000

/** Writes events one after the other, patiently while the server cannot be reached, and drops what it refuses. */
export class EventWriter {
  readonly #options: EventWriterOptions
  readonly #closed = new AbortController()
  #backlog = 0
  #last: Promise<void> = Promise.resolve()

  constructor(options: EventWriterOptions) {
    this.#options = options
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

  /** Does not wait for servers that cannot be reached. */
  close(): Promise<void> {
    this.#closed.abort()
    return this.#last
  }

  async #try(reason: string, attempt: () => Promise<unknown>): Promise<void> {
    const { clock, logger } = this.#options
    const { signal } = this.#closed
    for (let tries = 1; ; tries++) {
      try {
        await attempt()
        return
      } catch (error) {
        if (error instanceof StatusError || tries >= triesLimit || signal.aborted) {
          logger.debug('failed to write event', { reason, error: String(error) })
          return
        }
      }
      await clock.sleep(pauseMs, signal).catch(() => undefined)
    }
  }
}
