import { type BodyLength, MalformedMessage, readTrailer } from '#wire/http1/message-head.ts'

/** What comes of a body. Chunks are parts of what was fed: whoever keeps one keeps all of that. */
export type BodySink = {
  onChunk(chunk: Buffer): void
  /** Once; nothing is read beyond. */
  onEnd(trailer: readonly string[]): void
}

const mostLineBytes = 4096
const mostTrailerBytes = 16_384
const sizePattern = /^([0-9A-Fa-f]{1,12})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/

/** Finds where a body ends in the bytes that follow a head. */
export class BodyReader {
  readonly #sink: BodySink
  readonly #isChunked: boolean
  /** Of the body, or of the chunk; infinite where the connection's end tells. */
  #remaining: number
  #state: 'size' | 'data' | 'afterData' | 'trailer' | 'over'
  /** The beginning of a line whose end has not come. */
  #line = ''

  constructor(length: BodyLength, sink: BodySink) {
    this.#sink = sink
    this.#isChunked = length === 'chunked'
    this.#remaining = length === 'chunked' ? 0 : length === 'untilClose' ? Number.POSITIVE_INFINITY : length
    this.#state = this.#isChunked ? 'size' : 'data'
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  /** A body of no bytes ends without any. */
  begin(): void {
    if (!this.#isChunked && this.#remaining === 0) this.#end([])
  }

  /** The connection has ended; false where the body had not. */
  connectionEnded(): boolean {
    if (this.#state === 'data' && this.#remaining === Number.POSITIVE_INFINITY) this.#end([])
    return this.#state === 'over'
  }

  /** Returns how many of the bytes belong to the body; fewer than there are only where it has ended. */
  feed(bytes: Buffer): number {
    let at = 0
    while (at < bytes.length && this.#state !== 'over') {
      if (this.#state === 'data') at = this.#data(bytes, at)
      else at = this.#control(bytes, at)
    }
    return at
  }

  #data(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#remaining)
    this.#remaining -= end - at
    this.#sink.onChunk(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
    if (this.#remaining === 0) {
      if (this.#isChunked) this.#state = 'afterData'
      else this.#end([])
    }
    return end
  }

  /** Lines between the data: sizes, what follows each chunk, the trailer. */
  #control(bytes: Buffer, at: number): number {
    const feed = bytes.indexOf(10, at)
    const end = feed === -1 ? bytes.length : feed + 1
    this.#line += bytes.toString('latin1', at, end)
    if (this.#line.length > (this.#state === 'trailer' ? mostTrailerBytes : mostLineBytes))
      throw new MalformedMessage('a line between chunks is too long')
    if (feed === -1) return end
    if (!this.#line.endsWith('\r\n')) throw new MalformedMessage('a line between chunks does not end in CR LF')
    if (this.#state === 'trailer') {
      if (this.#line === '\r\n' || this.#line.endsWith('\r\n\r\n')) this.#end(readTrailer(this.#line))
      return end
    }
    const line = this.#line.slice(0, -2)
    this.#line = ''
    if (this.#state === 'afterData') {
      if (line !== '') throw new MalformedMessage('a chunk is longer than it said')
      this.#state = 'size'
      return end
    }
    const size = sizePattern.exec(line)?.[1]
    if (size === undefined) throw new MalformedMessage('the size of a chunk is malformed')
    this.#remaining = Number.parseInt(size, 16)
    this.#state = this.#remaining === 0 ? 'trailer' : 'data'
    return end
  }

  #end(trailer: readonly string[]): void {
    this.#state = 'over'
    this.#sink.onEnd(trailer)
  }
}
