import { type Http2Headers, type Http2Stream, http2Codes } from '#base/http2-sessions.ts'
import type { AnswerHead, BodyReceiver, ClientExchange, ClientRequest, Entrance } from '#ingress/data-plane/exchange.ts'
import { http2HeadersOf } from '#ingress/data-plane/http2-headers.ts'

/** Within which a client reads an answer that is written to its end. */
const unreadMs = 60_000

/** A request of HTTP/2 and the way to answer it. */
export class Http2Answer implements ClientExchange {
  readonly request: ClientRequest
  readonly entrance: Entrance
  readonly #stream: Http2Stream
  #head: AnswerHead | undefined
  #trailer: readonly string[] = []
  #isOver = false
  onDrain: (() => void) | undefined
  onGone: (() => void) | undefined

  constructor(stream: Http2Stream, headers: Http2Headers, rawHeaders: readonly string[], hasEnded: boolean, entrance: Entrance) {
    this.#stream = stream
    this.entrance = entrance
    this.request = requestOf(headers, rawHeaders, hasEnded)
    stream.on('drain', () => this.onDrain?.())
    stream.on('wantTrailers', () => this.#orClose(() => stream.sendTrailers(http2HeadersOf(this.#trailer, {}))))
    stream.on('close', () => {
      if (!this.#isOver) this.onGone?.()
    })
  }

  readBody(receiver: BodyReceiver): void {
    if (this.request.body === 0) {
      receiver.onEnd([])
      return
    }
    let trailer: readonly string[] = []
    this.#stream.on('trailers', (_headers: Http2Headers, _flags: number, raw: string[] = []) => {
      trailer = raw.filter((_, at) => !(raw[at - (at % 2)] ?? '').startsWith(':'))
    })
    this.#stream.on('data', (chunk: Buffer) => receiver.onChunk(chunk))
    this.#stream.on('end', () => receiver.onEnd(trailer))
  }

  holdBody(isHeld: boolean): void {
    if (isHeld) this.#stream.pause()
    else this.#stream.resume()
  }

  inform(status: number, headers: readonly string[]): void {
    if (this.#stream.closed || this.#stream.headersSent || status === 101) return
    this.#orClose(() => this.#stream.additionalHeaders(http2HeadersOf(headers, { ':status': status })))
  }

  begin(head: AnswerHead): void {
    this.#head = head
  }

  write(chunk: Buffer): boolean {
    this.#send(false)
    return this.#stream.closed || this.#stream.write(chunk)
  }

  flush(): void {
    this.#send(false)
  }

  end(trailer: readonly string[]): void {
    this.#trailer = trailer
    this.#isOver = true
    const isAllSent = this.#head !== undefined && trailer.length === 0
    this.#send(isAllSent)
    if (!isAllSent && !this.#stream.closed) this.#stream.end()
    // What it does not read is not kept for ever. Node counts from the last piece that was taken.
    if (!this.#stream.closed) this.#stream.setTimeout(unreadMs, () => this.#stream.close(http2Codes.cancel))
    // What the client still sends is not waited for.
    if (this.request.body !== 0) this.#stream.resume()
  }

  abort(): void {
    this.#stream.close(http2Codes.internal)
  }

  takeOver(): undefined {
    return undefined
  }

  #send(endStream: boolean): void {
    const head = this.#head
    if (head === undefined) return
    this.#head = undefined
    if (this.#stream.closed) return
    const length = typeof head.body === 'number' ? { 'content-length': String(head.body) } : {}
    const headers = http2HeadersOf(head.headers, { ':status': head.status, ...length })
    this.#orClose(() => this.#stream.respond(headers, endStream ? { endStream } : { waitForTrailers: true }))
  }

  /** What Node throws at for its own reasons ends this exchange and no other. */
  #orClose(send: () => void): void {
    try {
      send()
    } catch {
      this.#stream.close(http2Codes.internal)
    }
  }
}

function requestOf(headers: Http2Headers, rawHeaders: readonly string[], hasEnded: boolean): ClientRequest {
  const list: string[] = []
  const cookies: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = [rawHeaders[at], rawHeaders[at + 1]]
    if (name.startsWith(':') || name === 'host' || name === 'te' || name === 'content-length') continue
    // HTTP/2 may send cookies one by one; HTTP/1 has one header for all.
    if (name === 'cookie') cookies.push(value)
    else list.push(name, value)
  }
  if (cookies.length > 0) list.push('cookie', cookies.join('; '))
  const length = Number(headers['content-length'])
  return {
    method: headers[':method'] ?? 'GET',
    target: headers[':path'] ?? '/',
    host: headers[':authority'] ?? headers.host ?? '',
    headers: list,
    body: hasEnded ? 0 : Number.isSafeInteger(length) && length > 0 ? length : 'chunked',
    upgrade: undefined,
    takesTrailers: headers['te'] === 'trailers',
    httpVersion: '2',
  }
}
