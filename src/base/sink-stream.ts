import type { ServerResponse } from 'node:http'
import * as http2 from 'node:http2'
import type { HttpResponseStream } from '#base/http-server.ts'

type Chunk = { chunk: Uint8Array | string; onSent: (() => void) | undefined }

/** About so much is handed on at once when the client has taken what there was. */
const handedOnBytes = 256 * 1024

/**
 * An answer on its way to a client. What the client is not ready for is kept here rather than in Node's stream: when a client goes
 * away, Node makes an error for each piece that was still to be written, and clients that do not read may have thousands of them.
 *
 * One for each open watch: a class, since closures would take several times its memory.
 */
export class SinkStream implements HttpResponseStream {
  readonly #sink: http2.ServerHttp2Stream | ServerResponse
  #waiting: Chunk[] | undefined
  #waitingBytes = 0

  constructor(sink: http2.ServerHttp2Stream | ServerResponse) {
    this.#sink = sink
  }
  get backlogBytes(): number {
    return this.#sink.writableLength + this.#waitingBytes
  }
  write(chunk: Uint8Array | string, onSent?: () => void): boolean {
    const sink = this.#sink
    if (sink.destroyed || sink.writableEnded) return false
    if (this.#waitingBytes === 0 && !sink.writableNeedDrain) return this.#handOn({ chunk, onSent })
    if (this.#waiting === undefined) {
      this.#waiting = []
      sink.on('drain', () => this.#isDrained())
      sink.on('close', () => this.#forget())
    }
    this.#waiting.push({ chunk, onSent })
    this.#waitingBytes += chunk.length
    return false
  }
  onDrain(callback: () => void): void {
    this.#sink.on('drain', () => {
      if (this.#isDrained()) callback()
    })
  }
  end(): void {
    if (this.#sink.destroyed) return
    for (const chunk of this.#waiting ?? []) this.#handOn(chunk)
    this.#forget()
    this.#sink.end()
  }
  abort(): void {
    this.#forget()
    if ('writeHead' in this.#sink) this.#sink.destroy()
    else this.#sink.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
  }

  #handOn({ chunk, onSent }: Chunk): boolean {
    if (onSent === undefined) return this.#sink.write(chunk)
    return this.#sink.write(chunk, (error: Error | null | undefined) => {
      if (!error) onSent()
    })
  }

  /** Hands on what waits, as far as the client is ready for it. */
  #isDrained(): boolean {
    if (this.#waiting === undefined || this.#waitingBytes === 0) return !this.#sink.writableNeedDrain
    if (this.#sink.writableNeedDrain) return false
    let count = 0
    let bytes = 0
    this.#sink.cork()
    for (const chunk of this.#waiting) {
      if (bytes >= handedOnBytes) break
      this.#handOn(chunk)
      bytes += chunk.chunk.length
      count++
    }
    this.#waiting = this.#waiting.slice(count)
    this.#waitingBytes -= bytes
    this.#sink.uncork()
    return this.#waitingBytes === 0 && !this.#sink.writableNeedDrain
  }

  #forget(): void {
    if (this.#waiting !== undefined) this.#waiting = []
    this.#waitingBytes = 0
  }
}
