/** Audit events sent to a service, many at a time. */
import type { V1Event } from '#api/audit/v1/types.gen.ts'
import { jsonText } from '#api/codec/json-text.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { AuditBackend } from './auditor.ts'

export type WebhookBackendOptions = {
  /** Takes an EventList as JSON. */
  send: (list: string) => Promise<unknown>
  clock: Clock
  logger: Logger
  onError(): void
  /** Events beyond these wait in vain. */
  bufferSize?: number
  bufferCharacters?: number
  batchSize?: number
  /** A batch may have more if it is a single event. */
  batchCharacters?: number
  batchWaitMs?: number
  /** Batches under way at once. */
  concurrency?: number
}

export class WebhookBackend implements AuditBackend {
  readonly name = 'webhook'
  readonly #options: Required<WebhookBackendOptions>
  /** As JSON: made of one event at a time, since a batch of large ones would take long. */
  readonly #waiting: string[] = []
  #characters = 0
  #timer: Timer | undefined
  #sending = 0
  #isClosing = false
  #idle: (() => void) | undefined

  constructor(options: WebhookBackendOptions) {
    this.#options = {
      ...{ bufferSize: 10_000, bufferCharacters: 64 << 20 },
      ...{ batchSize: 400, batchCharacters: 10 << 20, batchWaitMs: 30_000 },
      concurrency: 10,
      ...options,
    }
  }

  process(event: V1Event): void {
    const { bufferSize, bufferCharacters, batchWaitMs, clock } = this.#options
    if (this.#isClosing || this.#waiting.length >= bufferSize || this.#characters >= bufferCharacters) {
      this.#options.onError()
      return
    }
    const text = jsonText(event)
    this.#waiting.push(text)
    this.#characters += text.length
    if (this.#isBatchFull) this.#flush()
    else this.#timer ??= clock.after(batchWaitMs, () => this.#flush())
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#flush()
    if (this.#sending === 0) return
    await new Promise<void>((resolve) => {
      this.#idle = resolve
    })
  }

  get #isBatchFull(): boolean {
    return this.#waiting.length >= this.#options.batchSize || this.#characters >= this.#options.batchCharacters
  }

  #flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    while (this.#waiting.length > 0 && this.#sending < this.#options.concurrency) void this.#deliver(this.#nextBatch())
  }

  #nextBatch(): string[] {
    const { batchSize, batchCharacters } = this.#options
    let count = 0
    let characters = 0
    for (const { length } of this.#waiting) {
      if (count === batchSize || (count > 0 && characters + length > batchCharacters)) break
      count++
      characters += length
    }
    this.#characters -= characters
    return this.#waiting.splice(0, count)
  }

  async #deliver(items: string[]): Promise<void> {
    this.#sending++
    try {
      await this.#options.send(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${items.join(',')}]}`)
    } catch (error) {
      for (const _ of items) this.#options.onError()
      this.#options.logger.error('failed to send audit events to webhook', { events: items.length, error: String(error) })
    }
    this.#sending--
    if (this.#isBatchFull || this.#isClosing) this.#flush()
    if (this.#sending === 0) this.#idle?.()
  }
}
