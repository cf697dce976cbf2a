/** A request that never leaves the process: the same road through the server, without sockets. */
import { jsonText } from '#api/codec/json-text.ts'
import { jsonCopy } from '#api/meta/json-copy.ts'
import type { RequestTurns } from '#apiserver/http/request-turns.ts'
import { BodyTooLargeError } from '#base/http-exchanges.ts'
import type { HttpConnection, HttpExchange, HttpHeaders, HttpResponseStream } from '#base/http-server.ts'

export type InProcessRequest = {
  method: string
  target: string
  headers?: Record<string, string>
  body?: Uint8Array | string
  /** In place of `body`: as it comes from elsewhere. */
  bodyPieces?: AsyncIterable<Uint8Array>
  /** In place of `body`: what its JSON would say. */
  value?: object
  signal?: AbortSignal
  /** Nobody waits for the answer: others of this process go first. */
  goesLast?: boolean
  /** Answers may come as values in place of bytes: see `value` and `values` of the response. */
  takesValues?: boolean
}

export type InProcessResponse = {
  status: number
  headers: HttpHeaders
  /** The whole body, or undefined for a stream. */
  body: Uint8Array | undefined
  /** Pieces as they are written; ends when the server ends the answer or the request is aborted. */
  chunks(): AsyncIterable<Uint8Array>
  /** What the JSON of the body would say, in place of `body`; shared with others, who rely on it to stay as it is. */
  value?(): object
  /** In place of `chunks`, likewise, where the answer is lines of JSON. */
  values?(): AsyncIterable<readonly object[]>
}

/** To copy more than this takes long enough that others should come in between: it goes the way of bodies from elsewhere. */
const copiedChars = 8 * 1024

/** Sends a request through `handle` and resolves when the answer has begun (streams) or is whole. */
export function inProcess(
  handle: (exchange: HttpExchange) => void,
  connection: HttpConnection,
): (request: InProcessRequest) => Promise<InProcessResponse> {
  return (request) =>
    new Promise((resolve, reject) => {
      const exchange = new InProcessExchange(request, connection, resolve, reject)
      const { signal } = request
      if (signal !== undefined) {
        if (signal.aborted) return reject(signal.reason)
        const onAbort = () => {
          exchange.close()
          reject(signal.reason)
        }
        signal.addEventListener('abort', onAbort, { once: true })
        // A signal may outlive thousands of requests.
        exchange.onClose(() => signal.removeEventListener('abort', onAbort))
      }
      handle(exchange)
    })
}

async function gathered(pieces: AsyncIterable<Uint8Array>, limitBytes: number): Promise<Buffer> {
  const held: Uint8Array[] = []
  let sizeBytes = 0
  for await (const piece of pieces) {
    sizeBytes += piece.length
    if (sizeBytes > limitBytes) throw new BodyTooLargeError(limitBytes)
    held.push(piece)
  }
  return Buffer.concat(held)
}

export class InProcessExchange implements HttpExchange {
  readonly method: string
  readonly target: string
  readonly headers: Record<string, string>
  readonly connection: HttpConnection
  readonly httpVersion = '2'
  readonly takesValues: boolean
  readonly goesLast: boolean
  readonly #body: Uint8Array | string | undefined
  readonly #bodyPieces: AsyncIterable<Uint8Array> | undefined
  readonly #value: object | undefined
  /** A copy of the body: its sender may change it while it waits for its turn. */
  readonly #bodyValue: object | undefined
  readonly #resolve: (response: InProcessResponse) => void
  readonly #reject: (error: unknown) => void
  readonly #closers: (() => void)[] = []
  #isClosed = false
  #turns: RequestTurns | undefined

  constructor(
    { method, target, headers = {}, body, bodyPieces, value, goesLast = false, takesValues = false }: InProcessRequest,
    connection: HttpConnection,
    resolve: (response: InProcessResponse) => void,
    reject: (error: unknown) => void,
  ) {
    this.method = method
    this.target = target
    this.headers = headers
    this.connection = connection
    this.takesValues = takesValues
    this.goesLast = goesLast
    this.#bodyValue = value && jsonCopy(value, copiedChars)
    this.#value = this.#bodyValue && value
    this.#body = value !== undefined && this.#bodyValue === undefined ? jsonText(value) : body
    this.#bodyPieces = bodyPieces
    this.#resolve = resolve
    this.#reject = reject
  }

  /** Begins in its turn, unless it is given up before; what is answered waits for one as well. */
  begin(turns: RequestTurns, serve: () => void): void {
    this.#turns = turns
    turns.take(() => {
      if (this.#isClosed) return
      try {
        serve()
      } catch (error) {
        this.#reject(error)
      }
    })
  }

  get rawHeaders(): readonly string[] {
    return Object.entries(this.headers).flat()
  }
  get isClosed(): boolean {
    return this.#isClosed
  }
  readBody(limitBytes: number): Promise<Buffer> {
    if (this.#bodyPieces !== undefined) return gathered(this.#bodyPieces, limitBytes)
    const body = this.#value === undefined ? this.#body : jsonText(this.#value)
    return Promise.resolve(body === undefined ? Buffer.alloc(0) : Buffer.from(body as Uint8Array))
  }
  takeBodyValue(): object | undefined {
    return this.#bodyValue
  }
  async *bodyPieces(): AsyncIterable<Uint8Array> {
    if (this.#bodyPieces !== undefined) return yield* this.#bodyPieces
    const body = await this.readBody(Number.POSITIVE_INFINITY)
    if (body.length > 0) yield body
  }
  onClose(callback: () => void): void {
    if (this.#isClosed) callback()
    else this.#closers.push(callback)
  }
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const callback of this.#closers.splice(0)) callback()
  }
  respond(status: number, headers: HttpHeaders, body: Uint8Array | string = ''): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const chunks = async function* () {
      yield bytes
    }
    this.#answer({ status, headers, body: bytes, chunks })
  }
  respondValue(status: number, headers: HttpHeaders, value: () => object): void {
    const chunks = async function* () {
      yield Buffer.from(jsonText(value()))
    }
    this.#answer({ status, headers, body: undefined, chunks, value })
  }
  #answer(response: InProcessResponse): void {
    if (this.#turns === undefined) this.#resolve(response)
    else this.#turns.take(() => this.#resolve(response))
    this.close()
  }
  stream(status: number, headers: HttpHeaders): HttpResponseStream {
    const turn = () => new Promise<void>((resolve) => (this.#turns === undefined ? resolve() : this.#turns.take(resolve)))
    const stream = new InProcessStream(turn, () => this.close())
    this.onClose(() => stream.close())
    const response = { status, headers, body: undefined, chunks: () => stream.chunks() }
    this.#resolve(this.takesValues ? { ...response, values: () => stream.values() } : response)
    return stream
  }
}

/** What may wait to be read before who writes has to. */
const aheadBytes = 256 * 1024

type Piece = Uint8Array | readonly object[]

/** An answer that is read as it is written. */
class InProcessStream implements HttpResponseStream {
  readonly #pending: { piece: Piece; sizeBytes: number }[] = []
  readonly #drained: (() => void)[] = []
  readonly #turn: () => Promise<void>
  readonly #onEnd: () => void
  #wake: (() => void) | undefined
  #hasEnded = false
  backlogBytes = 0

  constructor(turn: () => Promise<void>, onEnd: () => void) {
    this.#turn = turn
    this.#onEnd = onEnd
  }

  write(chunk: Uint8Array | string): boolean {
    if (this.#hasEnded) return false
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    this.#push(bytes, bytes.byteLength)
    return this.backlogBytes <= aheadBytes
  }
  give(values: readonly object[], sizeBytes: number): void {
    if (!this.#hasEnded) this.#push(values, sizeBytes)
  }
  onDrain(callback: () => void): void {
    this.#drained.push(callback)
  }
  end(): void {
    this.close()
    this.#onEnd()
  }
  abort(): void {
    this.end()
  }
  close(): void {
    this.#hasEnded = true
    this.#wake?.()
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    for await (const piece of this.#pieces()) yield piece instanceof Uint8Array ? piece : linesOf(piece)
  }

  async *values(): AsyncGenerator<readonly object[]> {
    for await (const piece of this.#pieces()) yield piece instanceof Uint8Array ? valuesOf(piece) : piece
  }

  async *#pieces(): AsyncGenerator<Piece> {
    try {
      for (;;) {
        while (this.#pending.length > 0) {
          await this.#turn()
          const next = this.#pending.shift()
          if (next === undefined) break
          this.backlogBytes -= next.sizeBytes
          if (this.#pending.length === 0) for (const callback of this.#drained) callback()
          yield next.piece
        }
        if (this.#hasEnded) return
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    } finally {
      this.#onEnd()
    }
  }

  #push(piece: Piece, sizeBytes: number): void {
    this.#pending.push({ piece, sizeBytes })
    this.backlogBytes += sizeBytes
    this.#wake?.()
  }
}

function linesOf(values: readonly object[]): Uint8Array {
  return Buffer.from(values.map((value) => `${jsonText(value)}\n`).join(''))
}

/** Whole lines: whoever writes for those who take values ends each piece with one. */
function valuesOf(bytes: Uint8Array): object[] {
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString().split('\n')
  return lines.flatMap((line) => (line.trim() === '' ? [] : (JSON.parse(line) as object)))
}
