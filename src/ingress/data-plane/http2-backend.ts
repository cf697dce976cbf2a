import type { ByteStream } from '#base/byte-streams.ts'
import { defined } from '#base/defined.ts'
import { type Http2ClientSession, type Http2Headers, type Http2Request, http2Codes, openHttp2 } from '#base/http2-sessions.ts'
import type { BackendCall, CallHandler, OutgoingRequest } from '#ingress/data-plane/exchange.ts'
import { headersOfHttp2, http2HeadersOf } from '#ingress/data-plane/http2-headers.ts'

/** A connection to a backend that speaks HTTP/2: many requests at a time. */
export class Http2Backend {
  readonly #session: Http2ClientSession
  #isLeaving = false
  activeCalls = 0

  constructor(stream: ByteStream, authority: string, onClose: () => void) {
    this.#session = openHttp2(stream, authority)
    this.#session.on('goaway', () => {
      this.#isLeaving = true
      onClose()
    })
    this.#session.on('close', onClose)
  }

  get isUsable(): boolean {
    return !this.#isLeaving && !this.#session.closed && !this.#session.destroyed
  }

  /** Ends once what is under way is over. */
  leave(): void {
    this.#isLeaving = true
    this.#session.close()
  }

  /** Throws where the request cannot be said in HTTP/2, or the session has ended this moment. */
  begin(request: OutgoingRequest, handler: CallHandler): BackendCall {
    const headers = http2HeadersOf(request.headers, {
      ':method': request.method,
      ':path': request.target,
      ':authority': request.host,
      ':scheme': request.scheme,
      ...defined({
        'content-length': typeof request.body === 'number' && request.body > 0 ? String(request.body) : undefined,
        te: request.takesTrailers ? 'trailers' : undefined,
      }),
    })
    const hasNoBody = request.body === 0
    const stream = this.#session.request(headers, { endStream: hasNoBody, waitForTrailers: !hasNoBody })
    this.activeCalls++
    return new Http2Call(stream, handler, () => {
      this.activeCalls--
    })
  }
}

class Http2Call implements BackendCall {
  readonly #stream: Http2Request
  #handler: CallHandler | undefined
  #trailer: readonly string[] = []
  #outgoingTrailer: readonly string[] = []
  #hasHeard = false

  constructor(stream: Http2Request, handler: CallHandler, onClose: () => void) {
    this.#stream = stream
    this.#handler = handler
    const on = <A extends readonly unknown[]>(event: string, hear: (...args: A) => void) =>
      stream.on(event, (...args: unknown[]) => {
        try {
          hear(...(args as unknown as A))
        } catch (error) {
          // Whatever it is, it ends this request and no other.
          this.#fail(error instanceof Error ? error : new Error(String(error)))
          stream.close(http2Codes.internal)
        }
      })
    on('headers', (headers: Http2Headers) => this.#handler?.onInterim(Number(headers[':status']), headersOfHttp2(headers)))
    on('response', (headers: Http2Headers, flags: number) => this.#onResponse(headers, (flags & 1) !== 0))
    on('trailers', (headers: Http2Headers) => {
      this.#trailer = headersOfHttp2(headers)
    })
    on('data', (chunk: Buffer) => {
      this.#handler?.onChunk(chunk)
      this.#handler?.onTurnOver()
    })
    on('end', () => this.#finish((handler) => handler.onEnd(this.#trailer)))
    on('drain', () => this.#handler?.onDrain())
    on('wantTrailers', () => stream.sendTrailers(http2HeadersOf(this.#outgoingTrailer, {})))
    stream.on('error', (error: Error) => this.#fail(error))
    stream.on('close', () => {
      onClose()
      this.#fail(new Error('the backend closed the stream'))
    })
  }

  #onResponse(headers: Http2Headers, hasEnded: boolean): void {
    this.#hasHeard = true
    const length = headers['content-length']
    const body = hasEnded ? ('none' as const) : length === undefined ? ('untilClose' as const) : Number(length)
    const list = headersOfHttp2(headers, body === 'none' ? [] : ['content-length'])
    this.#handler?.onHead({ status: Number(headers[':status']), reason: '', headers: list, body })
    if (!hasEnded) this.#handler?.onTurnOver()
  }

  write(chunk: Buffer): boolean {
    return this.#stream.write(chunk)
  }

  flush(): void {}

  end(trailer: readonly string[]): void {
    this.#outgoingTrailer = trailer
    this.#stream.end()
  }

  hold(isHeld: boolean): void {
    if (isHeld) this.#stream.pause()
    else this.#stream.resume()
  }

  abort(): void {
    this.#handler = undefined
    this.#stream.close(http2Codes.cancel)
  }

  #fail(error: Error): void {
    const effect = this.#hasHeard ? 'some' : this.#stream.rstCode === http2Codes.refused ? 'none' : 'unknown'
    this.#finish((handler) => handler.onError(error, effect))
  }

  #finish(tell: (handler: CallHandler) => void): void {
    const handler = this.#handler
    this.#handler = undefined
    if (handler !== undefined) tell(handler)
  }
}
