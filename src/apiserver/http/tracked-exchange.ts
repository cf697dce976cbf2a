/** An exchange that knows what became of it: who looks on learns of the answer before it goes out, and of its end. */
import type { HttpConnection, HttpExchange, HttpHeaders, HttpResponseStream, TakenConnection } from '#base/http-server.ts'

/** `onAnswer` and `onEnd` are called once, in this order; `onEnd` alone, with status 0, when the client went before the answer. */
export type ExchangeWatcher = {
  readonly wantsBody: boolean
  onBody(body: Buffer): void
  /** Whether it wants to read the answer, which is then not compressed. */
  readonly wantsPlainAnswer: boolean
  /** May add headers. `body` is absent for streams, and for answers without one. */
  onAnswer(status: number, headers: HttpHeaders, body: Uint8Array | string | undefined): void
  /** Whether it wants to see what is streamed; asked once, after `onAnswer`. */
  readonly wantsChunks: boolean
  onChunk(chunk: Uint8Array | string): void
  onEnd(status: number, sizeBytes: number): void
}

export class TrackedExchange implements HttpExchange {
  readonly #inner: HttpExchange
  readonly #watcher: ExchangeWatcher
  readonly method: string
  #status = 0
  #hasEnded = false
  #isStream = false
  #isGivenUp = false
  #stream: HttpResponseStream | undefined

  constructor(inner: HttpExchange, watcher: ExchangeWatcher) {
    this.#inner = inner
    this.#watcher = watcher
    this.method = inner.method
  }

  get target(): string {
    return this.#inner.target
  }
  get headers(): HttpExchange['headers'] {
    const { headers } = this.#inner
    return this.#watcher.wantsPlainAnswer ? { ...headers, 'accept-encoding': undefined } : headers
  }
  get rawHeaders(): readonly string[] {
    return this.#inner.rawHeaders
  }
  get connection(): HttpConnection {
    return this.#inner.connection
  }
  get httpVersion(): '1.1' | '2' {
    return this.#inner.httpVersion
  }
  get isClosed(): boolean {
    return this.#inner.isClosed
  }
  readBody(limitBytes: number): Promise<Buffer> {
    const body = this.#inner.readBody(limitBytes)
    if (!this.#watcher.wantsBody) return body
    return body.then((bytes) => {
      this.#watcher.onBody(bytes)
      return bytes
    })
  }
  takeBodyValue(): object | undefined {
    return this.#watcher.wantsBody ? undefined : this.#inner.takeBodyValue?.()
  }
  /** Bodies that are passed on are not looked at. */
  bodyPieces(): AsyncIterable<Uint8Array> {
    return this.#inner.bodyPieces()
  }
  onClose(callback: () => void): void {
    this.#inner.onClose(callback)
  }
  closeConnection(): void {
    this.#inner.closeConnection?.()
  }
  get takeOver(): (() => TakenConnection) | undefined {
    const { takeOver } = this.#inner
    if (takeOver === undefined) return undefined
    return () => {
      this.#begin(101, {}, undefined, true)
      const taken = takeOver()
      taken.socket.once('close', () => this.#end(0))
      return taken
    }
  }

  respond(status: number, headers: HttpHeaders, body?: Uint8Array | string): void {
    if (this.#isGivenUp) return
    this.#begin(status, headers, body, false)
    this.#inner.respond(status, headers, body)
    this.#end(body === undefined ? 0 : body.length)
  }

  get takesValues(): boolean {
    return this.#inner.takesValues === true && !this.#watcher.wantsPlainAnswer
  }

  respondValue(status: number, headers: HttpHeaders, value: () => object, sizeBytes: number): void {
    if (this.#isGivenUp) return
    this.#begin(status, headers, undefined, false)
    this.#inner.respondValue?.(status, headers, value, sizeBytes)
    this.#end(sizeBytes)
  }

  stream(status: number, headers: HttpHeaders): HttpResponseStream {
    if (this.#isGivenUp) return nowhere
    this.#begin(status, headers, undefined, true)
    const watcher = this.#watcher.wantsChunks ? this.#watcher : undefined
    const stream = new CountedStream(this.#inner.stream(status, headers), watcher, (sizeBytes) => this.#end(sizeBytes))
    this.#inner.onClose(stream.ended)
    this.#stream = stream
    return stream
  }

  /** Whether an answer has begun, or nobody waits for one. */
  get isAnswered(): boolean {
    return this.#status !== 0 || this.#hasEnded
  }

  /** Time is up: answers with this where no answer has begun, and breaks off one that has. Whoever answers later is not heard. */
  giveUp(status: number, headers: HttpHeaders, body: string): void {
    if (this.#hasEnded) return
    if (this.#status === 0) this.respond(status, headers, body)
    else this.#stream?.abort()
    this.#isGivenUp = true
    this.#inner.abandonBody?.()
  }

  /** Nobody will answer any more; streams that were begun go on. */
  leave(): void {
    if (!this.#isStream) this.#end(0)
  }

  #begin(status: number, headers: HttpHeaders, body: Uint8Array | string | undefined, isStream: boolean): void {
    if (this.#status !== 0) return
    this.#status = status
    this.#isStream = isStream
    this.#watcher.onAnswer(status, headers, body)
  }

  #end(sizeBytes: number): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#watcher.onEnd(this.#status, sizeBytes)
  }
}

const nowhere: HttpResponseStream = { write: () => false, backlogBytes: 0, onDrain() {}, end() {}, abort() {} }

class CountedStream implements HttpResponseStream {
  readonly #inner: HttpResponseStream
  readonly #watcher: ExchangeWatcher | undefined
  readonly #onEnd: (sizeBytes: number) => void
  #sizeBytes = 0

  constructor(inner: HttpResponseStream, watcher: ExchangeWatcher | undefined, onEnd: (sizeBytes: number) => void) {
    this.#inner = inner
    this.#watcher = watcher
    this.#onEnd = onEnd
  }

  get backlogBytes(): number {
    return this.#inner.backlogBytes
  }
  write(chunk: Uint8Array | string, onSent?: () => void): boolean {
    this.#sizeBytes += chunk.length
    this.#watcher?.onChunk(chunk)
    // Whoever looks on may keep what it sees.
    return this.#inner.write(chunk, this.#watcher === undefined ? onSent : undefined)
  }
  give(values: readonly object[], sizeBytes: number): void {
    this.#sizeBytes += sizeBytes
    this.#inner.give?.(values, sizeBytes)
  }
  onDrain(callback: () => void): void {
    this.#inner.onDrain(callback)
  }
  end(): void {
    this.#inner.end()
    this.ended()
  }
  abort(): void {
    this.#inner.abort()
    this.ended()
  }
  ended = (): void => this.#onEnd(this.#sizeBytes)
}
