/** A request that never leaves the process: the same road through the server, without sockets. */
import type { RequestTurns } from '#apiserver/http/request-turns.ts'
import type { HttpConnection, HttpExchange, HttpHeaders, HttpResponseStream } from '#base/http-server.ts'

export type InProcessRequest = {
  method: string
  target: string
  headers?: Record<string, string>
  body?: Uint8Array | string
  signal?: AbortSignal
}

export type InProcessResponse = {
  status: number
  headers: HttpHeaders
  /** The whole body, or undefined for a stream. */
  body: Uint8Array | undefined
  /** Pieces as they are written; ends when the server ends the answer or the request is aborted. */
  chunks(): AsyncIterable<Uint8Array>
}

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

export class InProcessExchange implements HttpExchange {
  readonly method: string
  readonly target: string
  readonly headers: Record<string, string>
  readonly connection: HttpConnection
  readonly httpVersion = '2'
  readonly #body: Uint8Array | string | undefined
  readonly #resolve: (response: InProcessResponse) => void
  readonly #reject: (error: unknown) => void
  readonly #closers: (() => void)[] = []
  #isClosed = false
  #turns: RequestTurns | undefined

  constructor(
    { method, target, headers = {}, body }: InProcessRequest,
    connection: HttpConnection,
    resolve: (response: InProcessResponse) => void,
    reject: (error: unknown) => void,
  ) {
    this.method = method
    this.target = target
    this.headers = headers
    this.connection = connection
    this.#body = body
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
  readBody(): Promise<Buffer> {
    return Promise.resolve(this.#body === undefined ? Buffer.alloc(0) : Buffer.from(this.#body as Uint8Array))
  }
  async *bodyPieces(): AsyncIterable<Uint8Array> {
    const body = await this.readBody()
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
    const resolve = () => this.#resolve({ status, headers, body: bytes, chunks })
    if (this.#turns === undefined) resolve()
    else this.#turns.take(resolve)
    this.close()
  }
  stream(status: number, headers: HttpHeaders): HttpResponseStream {
    const pending: Uint8Array[] = []
    const drained: (() => void)[] = []
    let pendingBytes = 0
    let wake: (() => void) | undefined
    let hasEnded = false
    const end = () => {
      hasEnded = true
      wake?.()
      this.close()
    }
    this.onClose(() => {
      hasEnded = true
      wake?.()
    })
    const close = () => this.close()
    const turn = () => new Promise<void>((resolve) => (this.#turns === undefined ? resolve() : this.#turns.take(resolve)))
    this.#resolve({
      status,
      headers,
      body: undefined,
      async *chunks() {
        try {
          for (;;) {
            while (pending.length > 0) {
              await turn()
              const chunk = pending.shift() as Uint8Array
              pendingBytes -= chunk.byteLength
              if (pending.length === 0) for (const callback of drained) callback()
              yield chunk
            }
            if (hasEnded) return
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
        } finally {
          close()
        }
      },
    })
    return {
      write(chunk) {
        if (hasEnded) return false
        const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
        pending.push(bytes)
        pendingBytes += bytes.byteLength
        wake?.()
        return true
      },
      get backlogBytes() {
        return pendingBytes
      },
      onDrain: (callback) => drained.push(callback),
      end,
      abort: end,
    }
  }
}
