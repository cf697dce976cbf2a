import type { ByteStream } from '#base/byte-streams.ts'
import type { AnswerHead, BodyReceiver, ClientExchange, ClientRequest, Entrance } from '#ingress/data-plane/exchange.ts'
import type { RequestHead } from '#wire/http1/message-head.ts'
import { chunkOf, lastChunk } from '#wire/http1/write-chunk.ts'

/** The connection that a request came by. */
export type AnswerOwner = {
  readBody(receiver: BodyReceiver): void
  holdBody(isHeld: boolean): void
  takeOver(): { stream: ByteStream; head: Buffer }
  /** The answer is written to its end. */
  answered(keepsAlive: boolean): void
}

/** What is copied so that head and body leave in one piece. */
const mostJoinedBytes = 16_384

/** A request of HTTP/1 and the way to answer it. */
export class Http1Answer implements ClientExchange {
  readonly request: ClientRequest
  readonly entrance: Entrance
  readonly #stream: ByteStream
  readonly #owner: AnswerOwner
  readonly #isOld: boolean
  #keepsAlive: boolean
  #isChunked = false
  #isRaw = false
  #pending = ''
  onDrain: (() => void) | undefined
  onGone: (() => void) | undefined

  constructor(head: RequestHead, stream: ByteStream, entrance: Entrance, owner: AnswerOwner) {
    this.entrance = entrance
    this.#stream = stream
    this.#owner = owner
    this.#isOld = head.minorVersion === 0
    this.#keepsAlive = head.keepsAlive
    const { method, target, host, headers, body, upgrade, takesTrailers } = head
    this.request = { method, target, host, headers, body, upgrade, takesTrailers, httpVersion: this.#isOld ? '1.0' : '1.1' }
  }

  closeAfterwards(): void {
    this.#keepsAlive = false
  }

  readBody(receiver: BodyReceiver): void {
    this.#owner.readBody(receiver)
  }

  holdBody(isHeld: boolean): void {
    this.#owner.holdBody(isHeld)
  }

  inform(status: number, headers: readonly string[]): void {
    if (!this.#isOld) this.#stream.write(`HTTP/1.1 ${status} \r\n${linesOf(headers)}\r\n`, 'latin1')
  }

  begin({ status, reason, headers, body }: AnswerHead): void {
    let text = `HTTP/1.1 ${status} ${reason}\r\n${linesOf(headers)}`
    if (typeof body === 'number') text += `Content-Length: ${body}\r\n`
    else if (body !== 'none') {
      // HTTP/1.0 knows no other end than the connection's.
      this.#isChunked = !this.#isOld
      if (this.#isChunked) text += 'Transfer-Encoding: chunked\r\n'
      else this.#keepsAlive = false
    }
    if (!this.#keepsAlive) text += 'Connection: close\r\n'
    else if (this.#isOld) text += 'Connection: keep-alive\r\n'
    this.#isRaw = body === 'none'
    this.#pending = `${text}\r\n`
  }

  write(chunk: Buffer): boolean {
    if (this.#isRaw || chunk.length === 0) return true
    const stream = this.#stream
    const head = this.#pending
    const bytes = this.#isChunked ? chunkOf(chunk) : chunk
    if (head === '') return stream.write(bytes)
    this.#pending = ''
    if (bytes.length > mostJoinedBytes) {
      stream.write(head, 'latin1')
      return stream.write(bytes)
    }
    const joined = Buffer.allocUnsafe(head.length + bytes.length)
    joined.write(head, 0, 'latin1')
    bytes.copy(joined, head.length)
    return stream.write(joined)
  }

  end(trailer: readonly string[]): void {
    const stream = this.#stream
    if (this.#isChunked) stream.write(this.#pending + lastChunk(trailer), 'latin1')
    else if (this.#pending !== '') stream.write(this.#pending, 'latin1')
    this.#pending = ''
    this.#owner.answered(this.#keepsAlive)
  }

  flush(): void {
    if (this.#pending === '') return
    const head = this.#pending
    this.#pending = ''
    this.#stream.write(head, 'latin1')
  }

  abort(): void {
    this.#stream.destroy()
  }

  takeOver(): { stream: ByteStream; head: Buffer } {
    return this.#owner.takeOver()
  }
}

export function linesOf(headers: readonly string[]): string {
  let text = ''
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  return text
}
