import type { ByteStream } from '#base/byte-streams.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Random } from '#base/random.ts'
import type { BackendTable } from '#ingress/data-plane/backend-table.ts'
import type { EndpointPool } from '#ingress/data-plane/endpoint-pool.ts'
import type { AnswerHead, BackendCall, CallEffect, CallHandler, ClientExchange, OutgoingRequest } from '#ingress/data-plane/exchange.ts'
import { joinStreams } from '#ingress/data-plane/join-streams.ts'
import { startMirror } from '#ingress/data-plane/mirror.ts'
import { outgoingRequest } from '#ingress/data-plane/outgoing-request.ts'
import { headerOf, redirect, refuse } from '#ingress/data-plane/refuse.ts'
import type { RequestCounts } from '#ingress/data-plane/request-counts.ts'
import { redirectLocation, withHeaderChanges } from '#ingress/routing/apply-changes.ts'
import { chooseWeighted } from '#ingress/routing/choose-weighted.ts'
import { resolvedPath, splitTarget } from '#ingress/routing/request-path.ts'
import type { HeaderChanges, Route, WeightedBackend } from '#ingress/routing/route.ts'
import type { RoutingTable } from '#ingress/routing/routing-table.ts'
import { TooLongToMatch } from '#ingress/routing/site-matcher.ts'

export type ForwardingParts = {
  routes: RoutingTable
  backends: BackendTable
  clock: Clock
  random: Random
  counts: RequestCounts
  /** Those under way, whose patience is looked at every now and then. */
  active: Set<Forwarding>
  /** What went wrong in the proxy itself. */
  onError(error: unknown): void
}

const mostTries = 3
/** Of the body, so that it can be sent again to another endpoint. */
const mostReplayBytes = 64 << 10
/** Until a backend begins to answer, and between two pieces of an answer. */
const headMs = 60_000
const pieceMs = 600_000
const lastStatus = 599
const repeatable: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'])

/** Leads a request to whom its route names, or answers it. Whatever goes wrong with it, others go on. */
export function forward(exchange: ClientExchange, parts: ForwardingParts): void {
  try {
    lead(exchange, parts)
  } catch (error) {
    if (error instanceof TooLongToMatch) {
      parts.counts.refused(exchange.request.method, 414)
      refuse(exchange, 414, error.message)
      return
    }
    parts.onError(error)
    const { onGone } = exchange
    // A request that is under way already can only be cut short.
    if (onGone === undefined) refuse(exchange, 500, 'the request cannot be served')
    else exchange.abort()
  }
}

function lead(exchange: ClientExchange, parts: ForwardingParts): void {
  const { request, entrance } = exchange
  const { path: given, query } = splitTarget(request.target)
  const path = isPlain(request.method, given) ? resolvedPath(given) : undefined
  if (path === undefined) {
    parts.counts.refused(request.method, 400)
    refuse(exchange, 400, 'the path of the request is malformed')
    return
  }
  const header = (name: string) => (name === 'host' ? request.host : headerOf(request.headers, name))
  const route = parts.routes.find(entrance.listener, request.host, { method: request.method, path, query, header })
  if (route === undefined) {
    parts.counts.refused(request.method, 404)
    refuse(exchange, 404, 'default backend - 404')
    return
  }
  const target = path === given ? request.target : path + query
  if (route.redirect !== undefined) {
    const from = { scheme: entrance.scheme, host: request.host, target, port: entrance.port }
    parts.counts.answered(route, request.method, route.redirect.status, 0)
    redirect(exchange, route.redirect.status, redirectLocation(route.redirect, from, route))
    return
  }
  const backend = chooseWeighted(route.backends, route.backends.length > 1 ? parts.random.float() : 0)
  if (backend === undefined || backend.backend === '') {
    parts.counts.answered(route, request.method, 500, 0)
    refuse(exchange, 500, 'the route has no valid backend')
  } else new Forwarding(exchange, route, backend, target, parts).start()
}

const isPlain = (method: string, path: string): boolean =>
  method !== 'CONNECT' && (path.startsWith('/') || path === '*') && !/[\0-\x20\x7f]/.test(path)

/** One request on its way to a backend and its answer on the way back. */
export class Forwarding implements CallHandler {
  readonly #exchange: ClientExchange
  readonly #route: Route
  readonly #backend: WeightedBackend
  readonly #parts: ForwardingParts
  readonly #outgoing: OutgoingRequest
  readonly #tried: EndpointPool[] = []
  #connecting: Disposable | undefined
  #call: BackendCall | undefined
  #isReadingBody = false
  #isBodyOver = false
  #trailer: readonly string[] = []
  /** What was sent of the body; undefined once it cannot be sent again. */
  #replay: Buffer[] | undefined = []
  #replayBytes = 0
  #hasBegun = false
  #isOver = false
  #deadlineMs = 0
  #startedMs = 0
  /** What the client sees; 499 where it has left before. */
  #status = 499
  #timers: Timer[] | undefined
  #mirrors: BackendCall[] | undefined

  constructor(exchange: ClientExchange, route: Route, backend: WeightedBackend, target: string, parts: ForwardingParts) {
    this.#exchange = exchange
    this.#route = route
    this.#backend = backend
    this.#parts = parts
    this.#outgoing = outgoingRequest(exchange, target, route, backend, exchange.entrance.scheme === 'https')
  }

  start(): void {
    const { timeouts, mirrors } = this.#route
    this.#exchange.onGone = () => this.#giveUp()
    this.#exchange.onDrain = () => this.#call?.hold(false)
    this.#parts.active.add(this)
    this.#startedMs = this.#waitFor(headMs)
    if (timeouts?.requestMs !== undefined) this.#after(timeouts.requestMs)
    if (timeouts?.backendRequestMs !== undefined) this.#after(timeouts.backendRequestMs)
    if (mirrors !== undefined) this.#startMirrors(mirrors)
    this.#try()
  }

  #startMirrors(mirrors: NonNullable<Route['mirrors']>): void {
    this.#mirrors = []
    for (const mirror of mirrors) {
      if (mirror.perMillion < 1_000_000 && this.#parts.random.float() * 1_000_000 >= mirror.perMillion) continue
      const call = startMirror(mirror.backend, this.#outgoing, this.#parts.backends)
      if (call !== undefined) this.#mirrors.push(call)
    }
  }

  checkDeadline(nowMs: number): void {
    if (nowMs >= this.#deadlineMs) this.#timeOut()
  }

  #waitFor(ms: number): number {
    const nowMs = this.#parts.clock.monotonic()
    this.#deadlineMs = nowMs + ms
    return nowMs
  }

  #after(ms: number): void {
    if (ms <= 0) return
    this.#timers ??= []
    this.#timers.push(this.#parts.clock.after(ms, () => this.#timeOut()))
  }

  #timeOut(): void {
    if (!this.#isOver) this.#parts.counts.failed(this.#route, this.#backend.backend, 'timeout')
    this.#fail(504, 'the backend did not answer in time')
  }

  #try(): void {
    if (this.#isOver) return
    const pool = this.#tried.length < mostTries ? this.#parts.backends.choose(this.#backend.backend, this.#tried) : undefined
    if (pool === undefined) {
      if (this.#tried.length === 0) {
        this.#parts.counts.failed(this.#route, this.#backend.backend, 'no_endpoints')
        this.#fail(503, 'no endpoints are available')
      } else this.#fail(502, 'no endpoint could be reached')
      return
    }
    this.#tried.push(pool)
    const start = { request: this.#outgoing, mayRepeat: this.#mayRepeat }
    const connecting = pool.call(start, this, this.#onCall, () => {
      this.#connecting = undefined
      this.#parts.counts.failed(this.#route, this.#backend.backend, 'unreachable')
      this.#try()
    })
    if (this.#call === undefined && !this.#isOver) this.#connecting = connecting
  }

  get #mayRepeat(): boolean {
    return repeatable.has(this.#outgoing.method)
  }

  readonly #onCall = (call: BackendCall): void => {
    this.#connecting = undefined
    this.#call = call
    for (const chunk of this.#replay ?? []) call.write(chunk)
    if (this.#isBodyOver) call.end(this.#trailer)
    else if (this.#isReadingBody) this.#exchange.holdBody(false)
    else this.#readBody()
  }

  #readBody(): void {
    this.#isReadingBody = true
    this.#exchange.readBody({
      onChunk: (chunk) => this.#onBodyChunk(chunk),
      onEnd: (trailer) => {
        this.#isBodyOver = true
        this.#trailer = trailer
        this.#call?.end(trailer)
        for (const mirror of this.#mirrors ?? []) mirror.end(trailer)
      },
    })
    this.#call?.flush()
  }

  #onBodyChunk(chunk: Buffer): void {
    if (this.#isOver) return
    this.#waitFor(headMs)
    if (this.#replay !== undefined) {
      this.#replayBytes += chunk.length
      if (this.#replayBytes > mostReplayBytes || this.#hasBegun) this.#replay = undefined
      else this.#replay.push(chunk)
    }
    for (const mirror of this.#mirrors ?? []) mirror.write(chunk)
    if (this.#call === undefined || !this.#call.write(chunk)) this.#exchange.holdBody(true)
  }

  onDrain(): void {
    this.#exchange.holdBody(false)
  }

  onInterim(status: number, headers: readonly string[]): void {
    if (!this.#isOver) this.#exchange.inform(status, headers)
  }

  onHead(head: AnswerHead): void {
    if (head.status > lastStatus) {
      this.#fail(502, `the backend answered with the status ${head.status}, which HTTP does not have`)
      return
    }
    this.#hasBegun = true
    this.#status = head.status
    this.#replay = undefined
    this.#waitFor(pieceMs)
    const [ofRoute, ofBackend] = [this.#route.responseHeaders, this.#backend.responseHeaders]
    if (ofRoute === undefined && ofBackend === undefined) this.#exchange.begin(head)
    else {
      const changes: readonly HeaderChanges[] = [...(ofRoute ?? []), ...(ofBackend ?? [])]
      this.#exchange.begin({ ...head, headers: withHeaderChanges(head.headers, changes) })
    }
  }

  onChunk(chunk: Buffer): void {
    if (this.#isOver) return
    if (!this.#exchange.write(chunk)) this.#call?.hold(true)
  }

  onTurnOver(): void {
    if (this.#isOver) return
    this.#deadlineMs = Math.max(this.#deadlineMs, this.#parts.clock.monotonic() + (this.#hasBegun ? pieceMs : headMs))
    if (this.#hasBegun) this.#exchange.flush()
  }

  onEnd(trailer: readonly string[]): void {
    if (this.#isOver) return
    this.#finish()
    this.#exchange.end(trailer)
  }

  onError(_error: Error, effect: CallEffect): void {
    this.#call = undefined
    if (this.#isOver) return
    this.#parts.counts.failed(this.#route, this.#backend.backend, 'closed')
    const mayRepeat = effect === 'none' || (effect === 'unknown' && this.#mayRepeat)
    if (!this.#hasBegun && mayRepeat && this.#replay !== undefined) {
      this.#exchange.holdBody(true)
      // An endpoint that has closed a connection may well take another.
      if (this.#tried.length < mostTries && this.#tried.length === 1) this.#tried.length = 0
      this.#again()
    } else this.#fail(502, 'the backend closed the connection')
  }

  #repeats = 0

  #again(): void {
    if (++this.#repeats >= mostTries) this.#fail(502, 'the backend closed the connection')
    else this.#try()
  }

  onUpgrade(head: AnswerHead, stream: ByteStream, rest: Buffer): void {
    const taken = this.#isOver ? undefined : this.#exchange.takeOver()
    this.#status = head.status
    this.#finish()
    if (taken === undefined) stream.destroy()
    else joinStreams(taken.stream, stream, { head, fromBackend: rest, fromClient: taken.head })
  }

  #fail(status: number, message: string): void {
    if (this.#isOver) return
    const call = this.#call
    if (!this.#hasBegun) this.#status = status
    this.#finish()
    call?.abort()
    if (this.#hasBegun) this.#exchange.abort()
    else refuse(this.#exchange, status, message)
  }

  #giveUp(): void {
    const call = this.#call
    this.#finish()
    call?.abort()
    for (const mirror of this.#mirrors ?? []) mirror.abort()
  }

  #finish(): void {
    if (!this.#isOver) {
      const { counts, clock } = this.#parts
      counts.answered(this.#route, this.#outgoing.method, this.#status, clock.monotonic() - this.#startedMs)
    }
    this.#isOver = true
    this.#parts.active.delete(this)
    this.#exchange.onGone = undefined
    this.#exchange.onDrain = undefined
    this.#connecting?.[Symbol.dispose]()
    this.#replay = undefined
    for (const timer of this.#timers ?? []) timer.cancel()
  }
}
