/** Audit events sent to a service, many at a time. */
import type { V1Event } from '#api/audit/v1/types.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { AuditBackend } from './auditor.ts'

export type WebhookBackendOptions = {
  send: (list: object) => Promise<unknown>
  clock: Clock
  logger: Logger
  onError(): void
  /** Events beyond these wait in vain. */
  bufferSize?: number
  batchSize?: number
  batchWaitMs?: number
  /** Batches under way at once. */
  concurrency?: number
}

export class WebhookBackend implements AuditBackend {
  readonly name = 'webhook'
  readonly #options: Required<WebhookBackendOptions>
  readonly #waiting: V1Event[] = []
  #timer: Timer | undefined
  #sending = 0
  #isClosing = false
  #idle: (() => void) | undefined

  constructor(options: WebhookBackendOptions) {
    this.#options = { bufferSize: 10_000, batchSize: 400, batchWaitMs: 30_000, concurrency: 10, ...options }
  }

  process(event: V1Event): void {
    const { bufferSize, batchSize, batchWaitMs, clock } = this.#options
    if (this.#isClosing || this.#waiting.length >= bufferSize) {
      this.#options.onError()
      return
    }
    this.#waiting.push(event)
    if (this.#waiting.length >= batchSize) this.#flush()
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

  #flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    const { batchSize, concurrency } = this.#options
    while (this.#waiting.length > 0 && this.#sending < concurrency) void this.#deliver(this.#waiting.splice(0, batchSize))
  }

  async #deliver(items: V1Event[]): Promise<void> {
    this.#sending++
    try {
      await this.#options.send({ kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {}, items })
    } catch (error) {
      for (const _ of items) this.#options.onError()
      this.#options.logger.error('failed to send audit events to webhook', { events: items.length, error: String(error) })
    }
    this.#sending--
    if (this.#waiting.length >= this.#options.batchSize || this.#isClosing) this.#flush()
    if (this.#sending === 0) this.#idle?.()
  }
}
