import type { ByteStream } from '#base/byte-streams.ts'
import type { BodyReceiver, ClientExchange, Entrance } from '#ingress/data-plane/exchange.ts'
import { type AnswerOwner, Http1Answer } from '#ingress/data-plane/http1-answer.ts'
import { BodyReader, type BodySink } from '#wire/http1/body-reader.ts'
import { GrowingBuffer } from '#wire/http1/growing-buffer.ts'
import { MalformedMessage, readRequestHead } from '#wire/http1/message-head.ts'

export type Http1ClientOptions = {
  entrance: Entrance
  onExchange(exchange: ClientExchange): void
  /** The client speaks HTTP/2 without TLS: the connection is given away, with its first bytes put back. */
  onHttp2(stream: ByteStream): void
  now(): number
  /** What went wrong in the proxy itself; the connection ends by it. */
  onError(error: unknown): void
}

const headEnd = Buffer.from('\r\n\r\n')
const mostHeadBytes = 64 << 10
/** What is kept of the requests that a client sends before it was answered. */
const mostAheadBytes = 64 << 10
const headMs = 60_000
const idleMs = 75_000
const bodyMs = 60_000
/** Within which a client that asks for more reads what it was answered. */
const unreadMs = 60_000
const lingerMs = 2000
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\n')

/**
 * A connection of a client that speaks HTTP/1: one request after the other.
 * ```
 * head ──> answering (the body may still come) ──> unread ──> head
 *                     └──> closing
 * ```
 */
export class Http1Client implements AnswerOwner, BodySink {
  readonly #stream: ByteStream
  readonly #options: Http1ClientOptions
  /** Bytes that nobody has read yet. */
  readonly #ahead = new GrowingBuffer()
  /** How many of them are known not to hold the end of a head. */
  #searched = 0
  #body: BodyReader | undefined
  #answer: Http1Answer | undefined
  #receiver: BodyReceiver | undefined
  #hasBody = false
  #expectsContinue = false
  #isBodyHeld = true
  #isClosing = false
  #isReading = false
  /** Answers wait to be read: until then nothing more is answered. */
  #isUnread = false
  #isFirst = true
  #deadlineMs: number

  constructor(stream: ByteStream, options: Http1ClientOptions) {
    this.#stream = stream
    this.#options = options
    this.#deadlineMs = options.now() + headMs
    stream.on('data', this.#onData)
    stream.on('end', this.#onEnd)
    stream.on('drain', this.#onDrain)
    stream.on('close', this.#onClose)
  }

  /** Waits for a request: nothing is lost by ending it. */
  get isIdle(): boolean {
    return this.#answer === undefined && this.#ahead.length === 0
  }

  /** No further request is taken; the one that is under way is finished. */
  leave(): void {
    this.#isClosing = true
    if (this.isIdle) this.#stream.end()
    else this.#answer?.closeAfterwards()
  }

  checkDeadline(nowMs: number): void {
    if (nowMs < this.#deadlineMs) return
    if (this.#answer === undefined && this.#ahead.length > 0 && !this.#isClosing && !this.#isUnread)
      this.#refuse(408, 'the request took too long')
    else this.#stream.destroy()
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#isClosing && this.#answer === undefined) return
    if (this.#body !== undefined && !this.#body.isOver && !this.#isBodyHeld) {
      this.#deadlineMs = this.#options.now() + bodyMs
      this.#feedBody(bytes)
      return
    }
    this.#ahead.append(bytes)
    if (this.#answer === undefined && !this.#isUnread) this.#readHeads()
    else if (this.#ahead.length >= mostAheadBytes) this.#stream.pause()
  }

  /** Whoever sends no more is taken to have left, as other proxies take it: there is no telling it from a client that was closed. */
  readonly #onEnd = (): void => {
    if (this.#answer === undefined) this.#stream.end()
    else this.#stream.destroy()
  }

  readonly #onDrain = (): void => {
    if (this.#isUnread) this.#awaitNext()
    else this.#answer?.onDrain?.()
  }

  readonly #onClose = (): void => {
    this.#deadlineMs = Number.POSITIVE_INFINITY
    const gone = this.#answer?.onGone
    this.#answer = undefined
    gone?.()
  }

  /** As many as are there, unless one has to be waited for. */
  #readHeads(): void {
    if (this.#isReading) return
    this.#isReading = true
    try {
      while (this.#answer === undefined && this.#ahead.length > 0 && !this.#isClosing && !this.#isUnread)
        if (!this.#readHead(this.#ahead.bytes)) break
    } catch (error) {
      if (error instanceof MalformedMessage) this.#refuse(error.status, error.message)
      else this.#break(error)
    } finally {
      this.#isReading = false
    }
  }

  #readHead(bytes: Buffer): boolean {
    // Clients may send an empty line before a request.
    let start = 0
    while (start < 4 && bytes[start] === 13 && bytes[start + 1] === 10) start += 2
    const end = bytes.indexOf(headEnd, Math.max(start, this.#searched - headEnd.length))
    if (end === -1 ? bytes.length > mostHeadBytes : end > mostHeadBytes) throw new MalformedMessage('the headers are too large', 431)
    if (end === -1) {
      this.#searched = bytes.length
      return false
    }
    this.#searched = 0
    if (this.#isFirst && this.#options.entrance.scheme === 'http' && bytes.subarray(0, preface.length).equals(preface)) {
      this.#giveAway(bytes)
      return false
    }
    this.#isFirst = false
    const head = readRequestHead(bytes.toString('latin1', start, end + 4))
    const all = this.#ahead.take()
    if (end + 4 < all.length) this.#ahead.append(all.subarray(end + 4))
    this.#deadlineMs = Number.POSITIVE_INFINITY
    this.#isBodyHeld = true
    this.#hasBody = head.body !== 0
    this.#expectsContinue = head.expectsContinue
    this.#body = this.#hasBody ? new BodyReader(head.body, this) : undefined
    const answer = new Http1Answer(head, this.#stream, this.#options.entrance, this)
    this.#answer = answer
    if (this.#isClosing) answer.closeAfterwards()
    this.#options.onExchange(answer)
    return true
  }

  onChunk(chunk: Buffer): void {
    this.#receiver?.onChunk(chunk)
  }

  onEnd(trailer: readonly string[]): void {
    this.#receiver?.onEnd(trailer)
  }

  readBody(receiver: BodyReceiver): void {
    this.#receiver = receiver
    if (this.#body === undefined) {
      receiver.onEnd([])
      return
    }
    if (this.#expectsContinue) this.#stream.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
    this.holdBody(false)
  }

  holdBody(isHeld: boolean): void {
    if (isHeld === this.#isBodyHeld || this.#body === undefined || this.#body.isOver) return
    this.#isBodyHeld = isHeld
    this.#deadlineMs = isHeld ? Number.POSITIVE_INFINITY : this.#options.now() + bodyMs
    if (isHeld) {
      this.#stream.pause()
      return
    }
    if (this.#ahead.length > 0) this.#feedBody(this.#ahead.take())
    if (!this.#isBodyHeld) this.#stream.resume()
  }

  #feedBody(bytes: Buffer): void {
    const body = this.#body
    if (body === undefined) return
    try {
      const used = body.feed(bytes)
      if (used < bytes.length) this.#ahead.append(bytes.subarray(used))
      if (body.isOver) this.#deadlineMs = Number.POSITIVE_INFINITY
    } catch (error) {
      // Where the next request would begin is unknown.
      if (error instanceof MalformedMessage) this.#stream.destroy()
      else this.#break(error)
    }
  }

  answered(keepsAlive: boolean): void {
    const isBodyOver = !this.#hasBody || this.#body?.isOver !== false
    this.#answer = undefined
    this.#receiver = undefined
    this.#body = undefined
    if (!keepsAlive || !isBodyOver || this.#isClosing) {
      this.#isClosing = true
      this.#ahead.take()
      this.#deadlineMs = this.#options.now() + lingerMs
      this.#stream.end()
      // What is still sent is read and thrown away: a reset could overtake the answer.
      this.#stream.resume()
      return
    }
    if (!this.#stream.writableNeedDrain) {
      this.#awaitNext()
      return
    }
    this.#isUnread = true
    this.#deadlineMs = this.#options.now() + unreadMs
    this.#stream.pause()
  }

  #awaitNext(): void {
    this.#isUnread = false
    this.#deadlineMs = this.#options.now() + (this.#ahead.length === 0 ? idleMs : headMs)
    this.#stream.resume()
    this.#readHeads()
  }

  /** Whatever it is, it ends this connection and no other. */
  #break(error: unknown): void {
    this.#options.onError(error)
    this.#stream.destroy()
  }

  takeOver(): { stream: ByteStream; head: Buffer } {
    const head = this.#ahead.take()
    this.#release()
    return { stream: this.#stream, head }
  }

  #giveAway(bytes: Buffer): void {
    this.#release()
    this.#isClosing = true
    this.#stream.pause()
    this.#stream.unshift(bytes)
    this.#options.onHttp2(this.#stream)
  }

  /** The connection is somebody else's from now on. */
  #release(): void {
    this.#ahead.take()
    this.#answer = undefined
    this.#deadlineMs = Number.POSITIVE_INFINITY
    this.#stream.off('data', this.#onData)
    this.#stream.off('end', this.#onEnd)
    this.#stream.off('drain', this.#onDrain)
    this.#stream.off('close', this.#onClose)
  }

  #refuse(status: number, message: string): void {
    const text = `${message}\n`
    this.#isClosing = true
    this.#ahead.take()
    this.#deadlineMs = this.#options.now() + lingerMs
    this.#stream.end(
      `HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
      'latin1',
    )
  }
}
