import { UnreadableValue, type ValueTransformer } from '#apiserver/encryption/transformer.ts'
import type { Clock } from '#base/clock.ts'
import type { KeyValue, StoreEvent } from '#store/store.ts'

export type FeedReceiver = {
  onEvents(events: StoreEvent[], revision: number): void
  onProgress(revision: number): void
}

const retryMs = 1000

/**
 * Hands on what a store tells, with values that can be read, in the store's order. Does so at once, unless a key service has to
 * be asked: then what comes later waits too. A value that cannot be read is tried again and again, for to leave a change out
 * would be to lie; meanwhile whoever asks for fresh data is told why there is none.
 */
export class ReadableFeed implements Disposable {
  readonly #transformer: ValueTransformer
  readonly #clock: Clock
  readonly #receiver: FeedReceiver
  readonly #stop = new AbortController()
  #waiting = 0
  #last: Promise<void> = Promise.resolve()
  #trouble: Error | undefined
  readonly #askers = new Set<(trouble: Error) => void>()

  constructor(transformer: ValueTransformer, clock: Clock, receiver: FeedReceiver) {
    this.#transformer = transformer
    this.#clock = clock
    this.#receiver = receiver
  }

  onEvents(events: StoreEvent[], revision: number): void {
    const readable = events.map((event) => (event.type === 'put' ? this.#readable(event) : event))
    const isReady = (event: StoreEvent | Promise<StoreEvent>) => !(event instanceof Promise)
    if (this.#waiting === 0 && readable.every(isReady)) this.#receiver.onEvents(readable as StoreEvent[], revision)
    else this.#inTurn(async () => this.#receiver.onEvents(await Promise.all(readable), revision))
  }

  onProgress(revision: number): void {
    if (this.#waiting === 0) this.#receiver.onProgress(revision)
    else this.#inTurn(async () => this.#receiver.onProgress(revision))
  }

  /** Whether all that came was handed on. */
  get isSettled(): boolean {
    return this.#waiting === 0
  }

  /** Resolves when all that came before was handed on; rejects when that cannot be done for now. Undefined: it was. */
  settled(): Promise<void> | undefined {
    if (this.isSettled) return undefined
    if (this.#trouble !== undefined) return Promise.reject(this.#trouble)
    return new Promise((resolve, reject) => {
      this.#askers.add(reject)
      void this.#last.then(() => {
        this.#askers.delete(reject)
        resolve()
      })
    })
  }

  [Symbol.dispose](): void {
    this.#stop.abort()
  }

  #inTurn(hand: () => Promise<void>): void {
    this.#waiting++
    this.#last = this.#last.then(async () => {
      // Only a stopped feed gives up on a value.
      await hand().catch(() => {})
      this.#waiting--
    })
  }

  #readable(event: StoreEvent): StoreEvent | Promise<StoreEvent> {
    const { kv } = event
    try {
      const read = this.#transformer.fromStorage(kv.value, kv.key)
      if (!(read instanceof Promise)) return { ...event, kv: { ...kv, value: read.bytes } }
      return read.then(
        ({ bytes }) => ({ ...event, kv: { ...kv, value: bytes } }),
        (error: unknown) => this.#later(event, error),
      )
    } catch (error) {
      return this.#later(event, error)
    }
  }

  async #later(event: StoreEvent, first: unknown): Promise<StoreEvent> {
    for (let error = first; ; ) {
      this.#tell(error instanceof UnreadableValue ? error : new UnreadableValue(event.kv.key, error))
      await this.#clock.sleep(retryMs, this.#stop.signal)
      try {
        const kv = await readableValue(event.kv, this.#transformer)
        this.#trouble = undefined
        return { ...event, kv }
      } catch (again) {
        error = again
      }
    }
  }

  #tell(trouble: Error): void {
    this.#trouble = trouble
    for (const reject of this.#askers) reject(trouble)
    this.#askers.clear()
  }
}

/** Throws `UnreadableValue`. */
export async function readableValue(kv: KeyValue, transformer: ValueTransformer | undefined): Promise<KeyValue> {
  if (transformer === undefined) return kv
  try {
    return { ...kv, value: (await transformer.fromStorage(kv.value, kv.key)).bytes }
  } catch (error) {
    throw error instanceof UnreadableValue ? error : new UnreadableValue(kv.key, error)
  }
}
