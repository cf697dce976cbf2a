/** The way of a request: who, may they, what, and the answer. */

import { DecodeError } from '#api/codec/decode-error.ts'
import { badRequest, internalError, requestEntityTooLarge, StatusError, unauthorized } from '#api/meta/status-error.ts'
import { type Authenticator, type AuthResult, groups, Unauthenticated, type UserInfo } from '#apiserver/authn/authenticator.ts'
import { impersonate, isImpersonated } from '#apiserver/authn/impersonation.ts'
import type { Attributes, AuthorizationResult, Authorizer } from '#apiserver/authz/authorizer.ts'
import { Forbidden, forbidden } from '#apiserver/authz/forbidden.ts'
import { TooManyRequests } from '#apiserver/flow-control/flow-control.ts'
import { contentTypeOf, encodeValue } from '#apiserver/http/answers.ts'
import { RequestContext } from '#apiserver/http/context.ts'
import { InProcessExchange } from '#apiserver/http/in-process-exchange.ts'
import { LaterRequests } from '#apiserver/http/later-requests.ts'
import { type Form, negotiate } from '#apiserver/http/negotiation.ts'
import { denied, serverCouldNotFind } from '#apiserver/http/refusals.ts'
import { defaultRequestTimeoutMs, giveUpAfter, requestTimeoutMs } from '#apiserver/http/request-deadline.ts'
import { type RequestInfo, requestInfo } from '#apiserver/http/request-info.ts'
import { type RecordServices, RequestRecord } from '#apiserver/http/request-record.ts'
import { RequestTurns } from '#apiserver/http/request-turns.ts'
import { withSelectors } from '#apiserver/http/selector-attributes.ts'
import { TrackedExchange } from '#apiserver/http/tracked-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import { isLongRunning } from '#apiserver/metrics/labels.ts'
import type { MemoryGuard } from '#apiserver/watchdog/memory-guard.ts'
import type { StallWatch, WatchedRequest } from '#apiserver/watchdog/stall-watch.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage, stackOf } from '#base/error-message.ts'
import { BodyTooLargeError, ClientGoneError } from '#base/http-exchanges.ts'
import type { HttpExchange, HttpHeaders } from '#base/http-server.ts'
import type { Logger } from '#base/log.ts'
import { ValueTooLargeError } from '#store/store.ts'

/** Answers one kind of request; it has been authenticated and authorized. */
export type Endpoint = (context: RequestContext) => void | Promise<void>

/** What the chain asks of the rest of the server. */
export type HandlerOptions = {
  authenticator: Authenticator
  authorizer: Authorizer
  /** The endpoint for a request, or undefined where there is none. */
  route(info: RequestInfo, method: string): Endpoint | undefined
  logger: Logger
  clock: Clock
  /** How long a request may take that is not long-running. */
  requestTimeoutMs?: number
  /** For metrics, audit and flow control; absent where nobody asks. */
  records?: RecordServices
  /** Notices requests that hold up all others; absent where nobody asks. */
  stalls?: StallWatch
  /** Says when there is too little memory for new work. */
  memory?: Pick<MemoryGuard, 'isShort' | 'hasRoomWithin'>
}

export class ApiHandler {
  readonly #options: HandlerOptions
  readonly #ownTurns: RequestTurns
  readonly #turns: RequestTurns
  readonly #later: LaterRequests
  /** Requests that are being answered, watches and their like aside. */
  #underWay = 0
  readonly #onIdle: (() => void)[] = []

  constructor(options: HandlerOptions) {
    this.#options = options
    this.#ownTurns = new RequestTurns(options.clock)
    this.#turns = new RequestTurns(options.clock)
    this.#later = new LaterRequests(options.clock)
  }

  handle = (raw: HttpExchange): void => {
    if (raw instanceof InProcessExchange) {
      const begin = () => raw.begin(this.#ownTurns, () => this.#begin(raw))
      if (raw.goesLast) this.#later.begin(begin)
      else begin()
    } else
      this.#turns.take(
        () => this.#beginOrBreakOff(raw),
        raw.connection,
        () => raw.isClosed,
      )
  }

  /** In a turn of its own nobody below would catch what it throws. */
  #beginOrBreakOff(raw: HttpExchange): void {
    try {
      this.#begin(raw)
    } catch (error) {
      this.#options.logger.error('failed to begin a request', {
        path: raw.target,
        error: error instanceof Error ? error.stack : String(error),
      })
      raw.breakOff?.()
    }
  }

  /** Resolves when nothing is being answered. */
  idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onIdle.push(resolve)
    })
  }

  #begin(raw: HttpExchange): void {
    const { path, query } = splitTarget(raw.target)
    const info = requestInfo(raw.method, path, query)
    const { records } = this.#options
    const record = records && new RequestRecord(records, raw, info, query)
    const exchange = record === undefined ? raw : new TrackedExchange(raw, record)
    const context = new RequestContext(exchange, info, query, nobody)
    const { stalls } = this.#options
    const startedMs = stalls === undefined ? 0 : this.#options.clock.monotonic()
    const serving = this.#serve(context, record).catch((error) => {
      this.#options.logger.error('failed to answer a request', { path, error: String(error) })
      raw.breakOff?.()
    })
    // Most are answered by now; a timer for each would cost more than they do.
    if (exchange instanceof TrackedExchange && !exchange.isAnswered && !(raw instanceof InProcessExchange)) {
      this.#giveUpInTime(exchange, context, serving)
    }
    if (raw instanceof InProcessExchange) {
      if (!isLongRunning(info)) this.#countOwn(serving)
      return
    }
    if (stalls === undefined) return
    stalls.ended(startedMs, () => watched(context))
    if (exchange instanceof TrackedExchange && exchange.isAnswered) return
    if (isLongRunning(info)) return
    stalls.enter(context, () => watched(context))
    void serving.then(() => stalls.leave(context))
  }

  #countOwn(serving: Promise<void>): void {
    this.#later.entered()
    void serving.then(() => this.#later.left())
  }

  #giveUpInTime(exchange: TrackedExchange, { info, query }: RequestContext, serving: Promise<void>): void {
    const { clock, requestTimeoutMs: limitMs = defaultRequestTimeoutMs } = this.#options
    const timeoutMs = requestTimeoutMs(info, query, limitMs)
    if (timeoutMs === undefined) return
    const timer = giveUpAfter(exchange, timeoutMs, clock)
    void serving.then(() => timer[Symbol.dispose]())
  }

  async #serve(context: RequestContext, record: RequestRecord | undefined): Promise<void> {
    const { exchange, info, query } = context
    const { authorizer, route } = this.#options
    const isCounted = !isLongRunning(info)
    if (isCounted) this.#underWay++
    let isIdentifying = false
    try {
      if (query === tooLongQuery) throw badRequest(`the request has more than ${mostParameters} query parameters`)
      // Before anybody is asked who they are, as upstream has it.
      const timeoutMs = requestTimeoutMs(info, query, this.#options.requestTimeoutMs ?? defaultRequestTimeoutMs)
      if (timeoutMs !== undefined && exchange.method !== 'GET') context.deadlineMs = this.#options.clock.monotonic() + timeoutMs
      isIdentifying = true
      const found = this.#identify(exchange, info)
      this.#enter(context, found instanceof Promise ? await found : found, record)
      if (isImpersonated(exchange.headers)) await this.#impersonate(context, record)
      if (this.#options.memory?.isShort) await this.#waitForRoom(context)
      const waiting = record?.admit(context)
      if (waiting !== undefined) await waiting
      const attributes = attributesOf(context.user, info, query)
      const decided = authorizer.authorize(attributes)
      const authorization = decided instanceof Promise ? await decided : decided
      record?.authorized(context, authorization)
      ensureAllowed(attributes, authorization)
      const endpoint = route(info, exchange.method)
      if (endpoint === undefined) throw serverCouldNotFind()
      const pending = endpoint(context)
      if (pending !== undefined) await pending
    } catch (error) {
      if (context.user === nobody) closeSharedConnection(context)
      if (isIdentifying && context.user === nobody) record?.notIdentified(context)
      if (error instanceof TooManyRequests) respondTooMany(context, error, record)
      else if (error instanceof MemoryShort) respondTryLater(context, error.message, 1)
      else respondError(context, error, this.#options.logger, record)
    } finally {
      record?.leave(context)
      if (exchange instanceof TrackedExchange) exchange.leave()
      if (isCounted && --this.#underWay === 0) for (const resolve of this.#onIdle.splice(0)) resolve()
    }
  }

  /**
   * Lists and large objects wait for a while: what they would take is soon given back by those before them. Others are sent away at once,
   * but for those who look after the cluster, and those who take something away.
   */
  async #waitForRoom({ info, exchange, user }: RequestContext): Promise<void> {
    if (info.verb === 'delete' || info.verb === 'deletecollection') return
    const needsMuch = info.verb === 'list' || Number(exchange.headers['content-length'] ?? 0) > largeBodyBytes
    if (!needsMuch && info.verb !== 'create' && isComponent(user)) return
    const hasRoom = needsMuch && (await this.#options.memory?.hasRoomWithin(roomPatienceMs))
    if (!hasRoom && !user.groups.includes(groups.masters)) throw new MemoryShort()
  }

  #enter(context: RequestContext, { user, warnings, auditAnnotations }: AuthResult, record: RequestRecord | undefined): void {
    context.user = user
    if (isAnonymous(user)) closeSharedConnection(context)
    for (const warning of warnings ?? []) context.warn(warning)
    for (const key in auditAnnotations) context.annotateAudit(key, auditAnnotations[key] ?? '')
    record?.identified(context)
  }

  async #impersonate(context: RequestContext, record: RequestRecord | undefined): Promise<void> {
    const { exchange, info, query, user } = context
    const asked = attributesOf(user, info, query)
    context.user = await impersonate(user, exchange.headers, exchange.rawHeaders, this.#options.authorizer, asked)
    record?.impersonates(context.user)
  }

  #identify(exchange: HttpExchange, info: RequestInfo) {
    const { connection } = exchange
    if (connection instanceof TrustedConnection) return connection.authenticated
    const outcome = this.#options.authenticator.authenticate({
      headers: exchange.headers as Record<string, string | undefined>,
      rawHeaders: exchange.rawHeaders,
      path: info.path,
      clientCertificate: connection.clientCertificate,
      remoteAddress: connection.remoteAddress,
    })
    const check = (result: Awaited<typeof outcome>) => {
      if (result === undefined) throw unauthorized()
      return result
    }
    return outcome instanceof Promise ? outcome.then(check) : check(outcome)
  }
}

/** How long a list waits for memory. */
const roomPatienceMs = 5000
const largeBodyBytes = 256 * 1024

/** Nodes, controllers and schedulers write down what has become of objects, and let go of their finalizers: without them nothing ends. */
function isComponent({ name, groups: of }: UserInfo): boolean {
  return name.startsWith('system:kube-') || of.includes(groups.nodes) || name.startsWith('system:serviceaccount:kube-system:')
}

const nobody: UserInfo = { name: '', groups: [], extra: {} }

/**
 * Many requests on one connection cost a client little and the server much, above all when they are reset at once
 * (CVE-2023-44487). Whoever has not said who they are gets one at a time, as upstream has it.
 */
function closeSharedConnection({ exchange }: RequestContext): void {
  if (exchange.httpVersion === '2') exchange.closeConnection?.()
}

function isAnonymous({ name, groups: held }: UserInfo): boolean {
  return name === 'system:anonymous' || held.includes(groups.unauthenticated)
}

export function attributesOf(user: UserInfo, info: RequestInfo, query: URLSearchParams): Attributes {
  const { verb, namespace, group, version, resource, subresource, name, path, isResourceRequest } = info
  const attributes = { user, verb, namespace, group, version, resource, subresource, name, path, isResourceRequest }
  const isSelective = verb === 'list' || verb === 'watch' || verb === 'deletecollection'
  return isSelective && isResourceRequest ? withSelectors(attributes, query) : attributes
}

function ensureAllowed(attributes: Attributes, authorization: AuthorizationResult): void {
  if (authorization.decision !== 'allow') throw forbidden(attributes, authorization.reason)
}

function splitTarget(target: string): { path: string; query: URLSearchParams } {
  const mark = target.indexOf('?')
  if (mark < 0) return { path: target, query: noQuery }
  return { path: target.slice(0, mark), query: queryOf(target.slice(mark + 1)) }
}

const noQuery = new URLSearchParams()
/** Stands for one that is not read: half a million parameters would take seconds. */
const tooLongQuery = new URLSearchParams()
/** As many as Go's servers take. */
const mostParameters = 10_000

function queryOf(text: string): URLSearchParams {
  if (text.length < mostParameters) return new URLSearchParams(text)
  let count = 1
  for (let at = text.indexOf('&'); at >= 0 && count <= mostParameters; at = text.indexOf('&', at + 1)) count++
  return count > mostParameters ? tooLongQuery : new URLSearchParams(withSpaces(text))
}

/** A plus stands for a space; a million of them take ten times as long to replace one by one. */
function withSpaces(query: string): string {
  const bytes = Buffer.from(query)
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === plus) bytes[at] = space
  return bytes.toString()
}

const plus = 0x2b
const space = 0x20

/** Sends what went wrong as a Status, in the form the client takes, or as JSON where it takes none. */
function respondError(context: RequestContext, thrown: unknown, logger: Logger, record?: RequestRecord): void {
  const expected = statusErrorOf(thrown)
  if (expected === undefined && !(thrown instanceof ClientGoneError)) {
    logger.error('request failed', { error: stackOf(thrown) })
    record?.panicked(thrown)
  }
  const error = expected ?? internalError(errorMessage(thrown))
  const { status } = error
  const form = formForErrors(context)
  const headers: HttpHeaders = { 'content-type': contentTypeOf(form) }
  const retryAfter = status.details?.retryAfterSeconds
  if (retryAfter) headers['retry-after'] = String(retryAfter)
  addWarnings(context, headers)
  context.exchange.respond(status.code ?? 500, headers, encodeValue(status as object, form, statusSchema))
}

export const statusSchema = 'io.k8s.apimachinery.pkg.apis.meta.v1.Status'

function formForErrors(context: RequestContext): Form {
  try {
    const { as, ...form } = negotiate(context.headers.accept, {
      pretty: context.query.get('pretty'),
      userAgent: context.headers['user-agent'],
    })
    return { ...form, as: 'object' }
  } catch {
    return { media: 'json', as: 'object', metaVersion: 'v1', isPretty: false }
  }
}

/** Undefined for what should not have been thrown. */
function statusErrorOf(thrown: unknown): StatusError | undefined {
  if (thrown instanceof StatusError) return thrown
  if (thrown instanceof Forbidden) return denied(thrown)
  if (thrown instanceof Unauthenticated) return unauthorized()
  if (thrown instanceof DecodeError) return badRequest(thrown.message)
  if (thrown instanceof BodyTooLargeError) return requestEntityTooLarge(`limit is ${thrown.limitBytes}`)
  if (thrown instanceof ValueTooLargeError)
    return requestEntityTooLarge(thrown.limitBytes ? `limit is ${thrown.limitBytes}` : thrown.message)
  return undefined
}

/** Whoever is sent away unheard gets plain text, as upstream has it: there is no time to find out what they would rather have. */
function respondTooMany(context: RequestContext, error: TooManyRequests, record: RequestRecord | undefined): void {
  record?.sentAway(error)
  respondTryLater(context, error.message, error.retryAfterSeconds)
}

/** There is no memory for the request. */
class MemoryShort extends Error {
  override name = 'MemoryShort'
  constructor() {
    super('The server is short of memory, please try again later.')
  }
}

function respondTryLater({ exchange }: RequestContext, message: string, retryAfterSeconds: number): void {
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'retry-after': String(retryAfterSeconds),
  }
  exchange.respond(429, headers, `${message}\n`)
}

function watched({ exchange, info, user }: RequestContext): WatchedRequest {
  const { verb, path } = info
  return { verb, path, user: user === nobody ? '' : user.name, sizeBytes: Number(exchange.headers['content-length'] ?? 0) || 0 }
}

export function addWarnings(context: RequestContext, headers: HttpHeaders): void {
  const warnings = context.warningHeaders()
  if (warnings.length > 0) headers['warning'] = warnings
}
