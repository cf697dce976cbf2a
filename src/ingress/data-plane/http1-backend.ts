import type { ByteStream } from '#base/byte-streams.ts'
import type { BackendCall, CallHandler, OutgoingRequest } from '#ingress/data-plane/exchange.ts'
import { linesOf } from '#ingress/data-plane/http1-answer.ts'
import { BodyReader, type BodySink } from '#wire/http1/body-reader.ts'
import { GrowingBuffer } from '#wire/http1/growing-buffer.ts'
import { MalformedMessage, readResponseHead } from '#wire/http1/message-head.ts'
import { chunkOf, lastChunk } from '#wire/http1/write-chunk.ts'

const headEnd = Buffer.from('\r\n\r\n')
const mostHeadBytes = 128 << 10
const mostInterim = 16
const mostJoinedBytes = 16_384
const nothing = Buffer.alloc(0)

/** A connection to a backend that speaks HTTP/1.1: one request at a time. */
export class Http1Backend implements BackendCall, BodySink {
  readonly #stream: ByteStream
  readonly #onFree: (connection: Http1Backend) => void
  #handler: CallHandler | undefined
  #method = ''
  #asksForUpgrade = false
  readonly #ahead = new GrowingBuffer()
  #searched = 0
  #body: BodyReader | undefined
  #isChunked = false
  #pending = ''
  #isSent = false
  #isAnswered = false
  #keepsAlive = true
  #hasHeard = false
  #interim = 0
  idleSinceMs = 0
  /** As the backend says it closes an idle connection. */
  idleSeconds: number | undefined

  /** `onFree` when it may have another request. */
  constructor(stream: ByteStream, onFree: (connection: Http1Backend) => void) {
    this.#stream = stream
    this.#onFree = onFree
    stream.on('data', (bytes: Buffer) => this.#onData(bytes))
    stream.on('drain', () => this.#handler?.onDrain())
    stream.on('end', () => this.#onEnd())
    stream.on('close', () => this.#fail(new Error('the backend closed the connection')))
  }

  get isUsable(): boolean {
    return this.#handler === undefined && !this.#stream.destroyed && !this.#stream.readableEnded && this.#keepsAlive
  }

  begin(request: OutgoingRequest, handler: CallHandler): BackendCall {
    this.#handler = handler
    this.#method = request.method
    this.#asksForUpgrade = request.upgrade !== undefined
    this.#isChunked = request.body === 'chunked'
    this.#isSent = this.#isAnswered = this.#hasHeard = false
    this.#interim = 0
    this.#body = undefined
    let text = `${request.method} ${request.target} HTTP/1.1\r\nHost: ${request.host}\r\n${linesOf(request.headers)}`
    if (request.upgrade !== undefined) text += `Connection: Upgrade\r\nUpgrade: ${request.upgrade}\r\n`
    if (request.takesTrailers) text += 'TE: trailers\r\n'
    if (this.#isChunked) text += 'Transfer-Encoding: chunked\r\n\r\n'
    else if (request.body === 0 && !bodyMethods.has(request.method)) text += '\r\n'
    else text += `Content-Length: ${request.body}\r\n\r\n`
    if (request.body === 0) {
      this.#isSent = true
      this.#stream.write(text, 'latin1')
    } else this.#pending = text
    return this
  }

  write(chunk: Buffer): boolean {
    const bytes = this.#isChunked ? chunkOf(chunk) : chunk
    const head = this.#pending
    if (head === '') return this.#stream.write(bytes)
    this.#pending = ''
    if (bytes.length > mostJoinedBytes) {
      this.#stream.write(head, 'latin1')
      return this.#stream.write(bytes)
    }
    const joined = Buffer.allocUnsafe(head.length + bytes.length)
    joined.write(head, 0, 'latin1')
    bytes.copy(joined, head.length)
    return this.#stream.write(joined)
  }

  /** The head leaves before the body has begun to come. */
  flush(): void {
    if (this.#pending === '') return
    this.#stream.write(this.#pending, 'latin1')
    this.#pending = ''
  }

  end(trailer: readonly string[]): void {
    if (this.#isSent) return
    if (this.#isChunked) this.#stream.write(this.#pending + lastChunk(trailer), 'latin1')
    else this.flush()
    this.#pending = ''
    this.#isSent = true
    if (this.#isAnswered) this.#free()
  }

  hold(isHeld: boolean): void {
    if (isHeld) this.#stream.pause()
    else this.#stream.resume()
  }

  abort(): void {
    this.#handler = undefined
    this.close()
  }

  close(): void {
    this.#keepsAlive = false
    this.#stream.destroy()
  }

  #onData(bytes: Buffer): void {
    const handler = this.#handler
    // Nobody has asked: what it says belongs to no request.
    if (handler === undefined) {
      this.close()
      return
    }
    this.#hasHeard = true
    try {
      if (this.#body !== undefined) this.#read(bytes, handler)
      else {
        this.#ahead.append(bytes)
        if (this.#hasHead()) this.#read(this.#ahead.take(), handler)
      }
      handler.onTurnOver()
    } catch (error) {
      // Whatever it is, it ends this request and no other.
      this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** What was searched in vain is not searched again. */
  #hasHead(): boolean {
    const { bytes } = this.#ahead
    const end = bytes.indexOf(headEnd, Math.max(0, this.#searched - headEnd.length))
    if (end === -1 && bytes.length > mostHeadBytes) throw new MalformedMessage('the headers of the answer are too large', 502)
    this.#searched = end === -1 ? bytes.length : 0
    return end !== -1
  }

  #read(bytes: Buffer, handler: CallHandler): void {
    let rest = bytes
    while (this.#body === undefined) {
      const end = rest.indexOf(headEnd)
      if (end === -1) {
        if (rest.length > 0) this.#ahead.append(rest)
        return
      }
      const head = readResponseHead(rest.toString('latin1', 0, end + 4), this.#method)
      rest = end + 4 === rest.length ? nothing : rest.subarray(end + 4)
      const { status, reason, headers } = head
      if (status === 101) {
        // Later requests of a client would go to the backend unseen.
        if (!this.#asksForUpgrade) throw new MalformedMessage('the backend changes a protocol that nobody asked it to change', 502)
        this.#handler = undefined
        this.#stream.removeAllListeners('data').removeAllListeners('end').removeAllListeners('drain')
        handler.onUpgrade({ status, reason, headers: upgradeHeaders(headers, head.upgrade), body: 'none' }, this.#stream, rest)
        return
      }
      if (status < 200) {
        if (++this.#interim > mostInterim) throw new MalformedMessage('there are too many interim answers', 502)
        // A client that waits to be asked for its body was asked by us.
        if (status !== 100) handler.onInterim(status, headers)
        continue
      }
      this.#keepsAlive &&= head.keepsAlive
      if (head.idleSeconds !== undefined) this.idleSeconds = head.idleSeconds
      this.#body = new BodyReader(head.body === 'none' ? 0 : head.body, this)
      handler.onHead({ status, reason, headers, body: head.body })
      this.#body.begin()
    }
    // What follows an answer belongs to no request.
    if (rest.length > 0 && (this.#isAnswered || this.#body.feed(rest) < rest.length)) this.#keepsAlive = false
    if (this.#isAnswered && !this.#keepsAlive) this.#stream.destroy()
  }

  onChunk(chunk: Buffer): void {
    this.#handler?.onChunk(chunk)
  }

  onEnd(trailer: readonly string[]): void {
    const handler = this.#handler
    this.#isAnswered = true
    if (this.#isSent && this.#keepsAlive) this.#free()
    else this.#handler = undefined
    handler?.onEnd(trailer)
    if (!this.#isSent) this.close()
  }

  #free(): void {
    this.#handler = undefined
    if (!this.#keepsAlive || this.#stream.destroyed) return
    if (this.#stream.isPaused()) this.#stream.resume()
    this.#onFree(this)
  }

  #onEnd(): void {
    const handler = this.#handler
    if (handler !== undefined && this.#body?.connectionEnded() === true) handler.onTurnOver()
    this.close()
  }

  #fail(error: Error): void {
    const handler = this.#handler
    this.#handler = undefined
    this.close()
    // The backend may have closed the connection while our request was on its way.
    handler?.onError(error, this.#hasHeard ? 'some' : 'unknown')
  }
}

const bodyMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

const upgradeHeaders = (headers: readonly string[], upgrade: string | undefined): string[] => [
  ...headers,
  'Connection',
  'Upgrade',
  ...(upgrade === undefined ? [] : ['Upgrade', upgrade]),
]
