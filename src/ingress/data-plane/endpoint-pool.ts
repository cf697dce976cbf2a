import type { ByteStream, connectStream } from '#base/byte-streams.ts'
import type { Clock } from '#base/clock.ts'
import type { BackendProtocol, Endpoint } from '#ingress/data-plane/backend.ts'
import type { BackendCall, CallHandler, OutgoingRequest } from '#ingress/data-plane/exchange.ts'
import { Http1Backend } from '#ingress/data-plane/http1-backend.ts'
import { Http2Backend } from '#ingress/data-plane/http2-backend.ts'

export type PoolSeams = { clock: Clock; connect: typeof connectStream }

const connectMs = 5000
const usualIdleMs = 60_000
const mostIdle = 128
/** A request that must not be sent twice takes no connection that the backend may be about to close. */
const freshMs = 1000
/** Streams of one session; another is opened beside it. */
const mostStreams = 100
/** Others are preferred for so long after it could not be reached. */
const avoidedMs = 5000

export type CallStart = { request: OutgoingRequest; mayRepeat: boolean }

/** The connections to one endpoint. */
export class EndpointPool {
  readonly endpoint: Endpoint
  readonly #protocol: BackendProtocol
  readonly #seams: PoolSeams
  readonly #idle: Http1Backend[] = []
  #sessions: Http2Backend[] = []
  #isLeaving = false
  #avoidedUntilMs = 0

  constructor(endpoint: Endpoint, protocol: BackendProtocol, seams: PoolSeams) {
    this.endpoint = endpoint
    this.#protocol = protocol
    this.#seams = seams
  }

  get isAvoided(): boolean {
    return this.#avoidedUntilMs > 0 && this.#seams.clock.monotonic() < this.#avoidedUntilMs
  }

  /** `onCall` once there is a connection; `onUnreachable` where there is none to be had: nothing was sent then. */
  call(start: CallStart, handler: CallHandler, onCall: (call: BackendCall) => void, onUnreachable: (error: Error) => void): Disposable {
    const isHttp2 = this.#protocol === 'h2c' || this.#protocol === 'h2'
    const known = isHttp2 ? this.#sessions.find((each) => each.isUsable && each.activeCalls < mostStreams) : this.#takeIdle(start.mayRepeat)
    if (known !== undefined) return this.#begin(known, start, handler, onCall, onUnreachable)
    return this.#connect(
      start.request.host,
      (stream) => {
        this.#avoidedUntilMs = 0
        const connection = isHttp2 ? this.#openSession(stream) : new Http1Backend(stream, this.#onFree)
        this.#begin(connection, start, handler, onCall, onUnreachable)
      },
      (error) => {
        this.#avoidedUntilMs = this.#seams.clock.monotonic() + avoidedMs
        onUnreachable(error)
      },
    )
  }

  #begin(
    connection: Http1Backend | Http2Backend,
    { request }: CallStart,
    handler: CallHandler,
    onCall: (call: BackendCall) => void,
    onUnreachable: (error: Error) => void,
  ): Disposable {
    let call: BackendCall
    try {
      call = connection.begin(request, handler)
    } catch (error) {
      let isWanted = true
      this.#seams.clock.soon(() => {
        if (isWanted) onUnreachable(errorOf(error))
      })
      return {
        [Symbol.dispose]() {
          isWanted = false
        },
      }
    }
    onCall(call)
    return nothingToUndo
  }

  /** The endpoint is to get no more: idle connections end now, others with what they are busy with. */
  leave(): void {
    this.#isLeaving = true
    for (const connection of this.#idle.splice(0)) connection.close()
    for (const session of this.#sessions.splice(0)) session.leave()
  }

  /** Ends connections that have been idle for long. */
  sweep(nowMs: number): void {
    for (let at = this.#idle.length - 1; at >= 0; at--) {
      const connection = this.#idle[at]
      if (connection === undefined || (connection.isUsable && !isStale(connection, nowMs))) continue
      this.#idle.splice(at, 1)
      connection.close()
    }
  }

  readonly #onFree = (connection: Http1Backend): void => {
    if (this.#isLeaving || this.#idle.length >= mostIdle) connection.close()
    else {
      connection.idleSinceMs = this.#seams.clock.monotonic()
      this.#idle.push(connection)
    }
  }

  #takeIdle(mayRepeat: boolean): Http1Backend | undefined {
    if (this.#idle.length === 0) return undefined
    const nowMs = this.#seams.clock.monotonic()
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.isUsable && !isStale(connection, nowMs)) {
        if (mayRepeat || nowMs - connection.idleSinceMs < freshMs) return connection
        this.#idle.push(connection)
        return undefined
      }
      connection.close()
    }
    return undefined
  }

  #openSession(stream: ByteStream): Http2Backend {
    const { host, port } = this.endpoint
    const session: Http2Backend = new Http2Backend(
      stream,
      `${this.#protocol === 'h2' ? 'https' : 'http'}://${bracketed(host)}:${port}`,
      () => {
        this.#sessions = this.#sessions.filter((each) => each !== session)
      },
    )
    if (this.#isLeaving) this.#seams.clock.soon(() => session.leave())
    else this.#sessions.push(session)
    return session
  }

  #connect(asked: string, onConnect: (stream: ByteStream) => void, onError: (error: Error) => void): Disposable {
    const { host, port } = this.endpoint
    const isSecure = this.#protocol === 'https' || this.#protocol === 'h2'
    const alpn = this.#protocol === 'h2' ? ['h2'] : ['http/1.1']
    let isOver = false
    const finish = (then: () => void) => {
      if (isOver) return
      isOver = true
      timer.cancel()
      try {
        then()
      } catch (error) {
        // Whoever waits for this connection hears that it is gone; others go on.
        stream?.destroy(errorOf(error))
      }
    }
    let stream: ByteStream | undefined
    const serverName = isSecure ? asked.replace(/:\d*$/, '') : ''
    const timer = this.#seams.clock.after(connectMs, () => {
      stream?.destroy()
      finish(() => onError(new Error(`no connection to ${host}:${port} within ${connectMs} ms`)))
    })
    try {
      stream = this.#seams.connect(
        { host, port, tls: isSecure ? { alpn, serverName } : undefined },
        (connected) => finish(() => onConnect(connected)),
        (error) => finish(() => onError(error)),
      )
    } catch (error) {
      this.#seams.clock.soon(() => finish(() => onError(errorOf(error))))
    }
    return {
      [Symbol.dispose]: () =>
        finish(() => {
          stream?.on('error', () => {})
          stream?.destroy()
        }),
    }
  }
}

const nothingToUndo: Disposable = { [Symbol.dispose]() {} }
const errorOf = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)

function isStale({ idleSinceMs, idleSeconds }: Http1Backend, nowMs: number): boolean {
  // A little before the backend would close it.
  const limitMs = idleSeconds === undefined ? usualIdleMs : Math.max(0, idleSeconds * 1000 - 500)
  return nowMs - idleSinceMs >= limitMs
}
