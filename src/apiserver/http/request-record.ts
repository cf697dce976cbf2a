/** What the server keeps of a request while it lasts: its measures, its seat, its place in the audit log. */
import { attemptedCredentials } from '#apiserver/audit/attempted-credentials.ts'
import type { AuditedRequest } from '#apiserver/audit/audited-request.ts'
import type { Auditor } from '#apiserver/audit/auditor.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import type { AuthorizationResult } from '#apiserver/authz/authorizer.ts'
import type { MeasuredCosts } from '#apiserver/fair-use/measured-costs.ts'
import type { FlowControl, Seat, TooManyRequests } from '#apiserver/flow-control/flow-control.ts'
import { seatsFor } from '#apiserver/flow-control/work-estimate.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import type { ExchangeWatcher } from '#apiserver/http/tracked-exchange.ts'
import type { AccessMetrics } from '#apiserver/metrics/access-metrics.ts'
import { isLongRunning } from '#apiserver/metrics/labels.ts'
import type { RequestMetrics, RouteMeasures } from '#apiserver/metrics/request-metrics.ts'
import type { Clock } from '#base/clock.ts'
import type { HttpExchange, HttpHeaders } from '#base/http-server.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'

export type RecordServices = {
  clock: Clock
  random: Random
  logger: Logger
  requests: RequestMetrics
  access: AccessMetrics
  /** Undefined: nothing is audited. */
  auditor?: Auditor | undefined
  /** What requests like it have cost lately; undefined: nobody measures. */
  costs?: MeasuredCosts | undefined
  /** Undefined: everything runs at once. */
  flowControl?: FlowControl | undefined
  /** How many objects of a resource there are. */
  objectCount(group: string, resource: string): number
}

export class RequestRecord implements ExchangeWatcher {
  readonly #services: RecordServices
  readonly #exchange: HttpExchange
  readonly #info: RequestInfo
  readonly #route: RouteMeasures
  readonly #auditId: string
  readonly #startedMs: number
  readonly #isLongRunning: boolean
  #user = ''
  #audited: AuditedRequest | undefined
  #seat: Seat | undefined
  #flow: { readonly uid: string; readonly level: { readonly uid: string } } | undefined
  #markMs: number

  constructor(services: RecordServices, exchange: HttpExchange, info: RequestInfo, query: URLSearchParams) {
    this.#services = services
    this.#exchange = exchange
    this.#info = info
    const { headers } = exchange
    const sent = headers['audit-id']
    this.#auditId = typeof sent === 'string' && sent !== '' ? sent : services.random.uuid()
    this.#route = services.requests.routeOf(info, exchange.method, query, headers['content-type'])
    this.#isLongRunning = isLongRunning(info)
    this.#startedMs = services.clock.monotonic()
    this.#markMs = this.#startedMs
    if (this.#isLongRunning) this.#route.longRunning(1)
    else services.requests.began(this.#route)
  }

  /** The request has a user, not yet the one it may want to be. */
  identified(context: RequestContext): void {
    const { access, auditor, clock } = this.#services
    access.authenticated('success', this.#lap())
    this.#user = context.user.name
    if (auditor === undefined) return
    this.#audited = auditor.begin(context, this.#auditId, clock.nowMicros())
    this.#audited?.received()
  }

  notIdentified(context: RequestContext): void {
    const { access, auditor, clock } = this.#services
    access.authenticated('failure', this.#lap())
    this.#audited = auditor?.begin(context, this.#auditId, clock.nowMicros())
    this.#audited?.notIdentified(attemptedCredentials(context))
  }

  impersonates(user: UserInfo): void {
    this.#user = user.name
    this.#audited?.impersonated(user)
  }

  /** Takes a seat, or waits for one. */
  admit({ info, user, query, exchange }: RequestContext): undefined | Promise<void> {
    const { flowControl, objectCount } = this.#services
    this.#markMs = this.#services.clock.monotonic()
    if (flowControl === undefined || (this.#isLongRunning && info.verb !== 'watch')) return undefined
    const seat = flowControl.admit({
      info,
      user,
      seats: Math.max(seatsFor(info, query, objectCount), this.#services.costs?.seatsFor(user.name, info) ?? 1),
      nowMs: this.#markMs,
      onLeave: (callback) => exchange.onClose(callback),
    })
    if (!(seat instanceof Promise)) {
      this.#sit(seat)
      return undefined
    }
    return seat.then((given) => {
      this.#sit(given)
      this.#markMs = this.#services.clock.monotonic()
    })
  }

  #sit(seat: Seat | undefined): void {
    this.#seat = seat
    this.#flow = seat?.schema
  }

  sentAway({ schema }: TooManyRequests): void {
    this.#flow = schema
  }

  authorized(context: RequestContext, { decision, reason }: AuthorizationResult): void {
    this.#services.access.authorized(decision, this.#lap())
    if (this.#audited === undefined) return
    context.annotateAudit('authorization.k8s.io/decision', decision === 'allow' ? 'allow' : 'forbid')
    context.annotateAudit('authorization.k8s.io/reason', reason)
    const { deprecation } = this.#route
    if (deprecation === undefined) return
    context.annotateAudit('k8s.io/deprecated', 'true')
    if (deprecation !== '') context.annotateAudit('k8s.io/removed-release', deprecation)
  }

  /** What no one had thought of happened. */
  panicked(error: unknown): void {
    this.#audited?.failed(error)
  }

  get wantsBody(): boolean {
    return this.#audited !== undefined
  }

  onBody(body: Buffer): void {
    this.#audited?.requestBody(body)
  }

  get wantsPlainAnswer(): boolean {
    return this.#audited?.wantsResponseBody ?? false
  }

  get wantsChunks(): boolean {
    return this.wantsPlainAnswer && !this.#isLongRunning
  }

  onChunk(chunk: Uint8Array | string): void {
    this.#audited?.chunk(chunk)
  }

  onAnswer(status: number, headers: HttpHeaders, body: Uint8Array | string | undefined): void {
    headers['audit-id'] = this.#auditId
    if (this.#flow !== undefined) {
      headers['x-kubernetes-pf-flowschema-uid'] = this.#flow.uid
      headers['x-kubernetes-pf-prioritylevel-uid'] = this.#flow.level.uid
    }
    this.#audited?.answered(status, String(headers['content-type'] ?? ''), body, this.#isLongRunning)
  }

  /** The handler has done its part: from here on the request only streams. */
  leave({ user, info, heldMs }: RequestContext): void {
    this.#services.costs?.observe(user.name, info, heldMs)
    this.#seat?.leave(this.#services.clock.monotonic())
  }

  onEnd(status: number, sizeBytes: number): void {
    const { requests, clock, logger } = this.#services
    if (this.#isLongRunning) this.#route.longRunning(-1)
    else requests.ended(this.#route)
    const tookMs = clock.monotonic() - this.#startedMs
    if (status === 0) requests.aborted(this.#info, this.#exchange.method)
    else requests.answered(this.#route, status, sizeBytes, tookMs, this.#seat?.waitedMs ?? 0)
    this.#audited?.completed(this.#isLongRunning)
    if (logger.isDebug) this.#log(status, sizeBytes, tookMs)
  }

  #log(status: number, sizeBytes: number, tookMs: number): void {
    const { method, target, headers, connection } = this.#exchange
    const { schema } = this.#seat ?? {}
    this.#services.logger.debug('request', {
      verb: this.#info.verb,
      method,
      uri: target,
      status,
      sizeBytes,
      tookMs: Math.round(tookMs * 1000) / 1000,
      user: this.#user,
      userAgent: headers['user-agent'],
      from: connection.remoteAddress,
      auditId: this.#auditId,
      ...(schema === undefined ? {} : { flowSchema: schema.name, priorityLevel: schema.level.name, waitedMs: this.#seat?.waitedMs }),
    })
  }

  /** Since the last mark. */
  #lap(): number {
    const nowMs = this.#services.clock.monotonic()
    const lap = nowMs - this.#markMs
    this.#markMs = nowMs
    return lap
  }
}
