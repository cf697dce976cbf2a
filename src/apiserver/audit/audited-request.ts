/** One request on record: what is known of it at each stage, as an event of audit.k8s.io. */

import type { V1Event, V1ObjectReference } from '#api/audit/v1/types.gen.ts'
import type { V1Status } from '#api/meta/v1/types.gen.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { AuditDecision, AuditStage } from './audit-policy.ts'
import { bodyObject, withoutManagedFields } from './body-object.ts'

export type AuditedRequestOptions = {
  context: RequestContext
  decision: AuditDecision
  auditId: string
  clock: Clock
  receivedMicros: number
  /** Takes the event as it is at this moment. */
  emit(event: V1Event): void
}

const userAgentLimit = 1024
/** Larger answers, lists mostly, are not put on record: they would be held in memory, read and written in one go. */
const answerLimitBytes = 4 << 20
/** YAML takes ten times as long to read as JSON. */
const yamlLimitBytes = 512 << 10
/** What upstream notes at events that it has shortened. */
const truncatedAnnotation = 'audit.k8s.io/truncated'
/** Longer answers than this say where the time went. */
const slowMs = 500
const openingBrace = 0x7b

export class AuditedRequest {
  readonly #options: AuditedRequestOptions
  readonly #event: V1Event
  #requestBody: Buffer | undefined
  #responseBody: Uint8Array | string | undefined
  #responseChunks: Uint8Array[] | undefined
  #responseBytes = 0
  #responseType = ''
  #refusal: string | undefined
  #isOver = false

  constructor(options: AuditedRequestOptions) {
    this.#options = options
    this.#event = eventOf(options)
  }

  received(): void {
    this.#stage('RequestReceived')
  }

  get wantsResponseBody(): boolean {
    return this.#options.decision.level === 'RequestResponse'
  }

  /** It is not known who sent it: the answer is all there is to record. */
  notIdentified(message: string): void {
    this.#refusal = message
  }

  impersonated(user: UserInfo): void {
    this.#event.impersonatedUser = shownUser(user)
  }

  requestBody(body: Buffer): void {
    const { headers } = this.#options.context
    const isYaml = body[0] !== openingBrace && (headers['content-type'] ?? '').includes('yaml')
    if (isYaml && body.length > yamlLimitBytes) this.#options.context.annotateAudit(truncatedAnnotation, 'true')
    else if (body.length > 0) this.#requestBody = body
  }

  /** The answer's head. Long-running requests get an event of their own for it. */
  answered(status: number, contentType: string, body: Uint8Array | string | undefined, isLongRunning: boolean): void {
    if (this.#isOver) return
    this.#responseType = contentType
    if (this.#mayKeep(body)) this.#responseBody = body
    this.#event.responseStatus = status >= 400 ? failureOf(body, contentType, status) : statusOf(status)
    if (this.#refusal !== undefined) {
      this.#event.responseStatus = { metadata: {}, message: this.#refusal, code: status }
      this.#isOver = true
    }
    if (isLongRunning || this.#refusal !== undefined) this.#stage('ResponseStarted')
  }

  chunk(chunk: Uint8Array | string): void {
    this.#responseChunks ??= []
    if (this.#mayKeep(chunk)) this.#responseChunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    else this.#responseChunks = []
  }

  /** Once it is too much for good. */
  #mayKeep(part: Uint8Array | string | undefined): boolean {
    this.#responseBytes += part?.length ?? 0
    if (this.#responseBytes <= answerLimitBytes) return true
    if (this.wantsResponseBody) this.#options.context.annotateAudit(truncatedAnnotation, 'true')
    return false
  }

  failed(error: unknown): void {
    const message = `APIServer panic'd: ${errorMessage(error)}`
    this.#event.responseStatus = { metadata: {}, status: 'Failure', message, reason: 'InternalError', code: 500 }
    this.#isOver = true
    this.#stage('Panic')
  }

  completed(isLongRunning: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    const { clock, receivedMicros } = this.#options
    if (this.#event.responseStatus === undefined) {
      this.#event.responseStatus = { metadata: {}, status: 'Success', message: 'Connection closed early', code: 200 }
      if (isLongRunning) this.#stage('ResponseStarted')
    }
    const tookMs = (clock.nowMicros() - receivedMicros) / 1000
    if (tookMs > slowMs) this.#options.context.annotateAudit('apiserver.latency.k8s.io/total', `${tookMs}ms`)
    this.#stage('ResponseComplete')
  }

  #stage(stage: AuditStage): void {
    const { decision, clock, context, emit, receivedMicros } = this.#options
    if (decision.omitStages.has(stage)) return
    if (stage !== 'RequestReceived') this.#fillBodies()
    const annotations = { ...context.auditAnnotations, ...(decision.level === 'Metadata' ? {} : context.auditAnnotationsOfBodies) }
    const { requestReceivedTimestamp = null, ...event } = this.#event
    emit({
      ...event,
      stage,
      requestReceivedTimestamp,
      stageTimestamp: microTime(stage === 'RequestReceived' ? receivedMicros : clock.nowMicros()),
      ...omitEmpty({ annotations }),
    })
  }

  /** Late, since only what is written down needs it. */
  #fillBodies(): void {
    const { decision, context } = this.#options
    if (this.#requestBody !== undefined) {
      const object = bodyObject(this.#requestBody, context.headers['content-type'] ?? '')
      this.#requestBody = undefined
      if (object !== undefined) {
        nameObject(this.#event, object, context.info.verb)
        if (decision.level !== 'Metadata') this.#event.requestObject = shown(object, decision)
      }
    }
    if (decision.level !== 'RequestResponse') return
    const body = this.#responseChunks === undefined ? this.#responseBody : Buffer.concat(this.#responseChunks)
    this.#responseChunks = undefined
    this.#responseBody = undefined
    if (body === undefined || body.length === 0) return
    const object = bodyObject(typeof body === 'string' ? Buffer.from(body) : body, this.#responseType)
    if (object !== undefined) this.#event.responseObject = shown(object, decision)
  }
}

function eventOf({ context, decision, auditId, receivedMicros }: AuditedRequestOptions): V1Event {
  const { info, exchange, user, headers } = context
  const userAgent = headers['user-agent'] ?? ''
  const objectRef = info.isResourceRequest ? reference(context) : undefined
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: decision.level,
    auditID: auditId,
    stage: '',
    requestURI: exchange.target,
    verb: info.verb,
    user: shownUser(user),
    sourceIPs: sourceIps(context),
    ...defined({
      userAgent:
        userAgent === '' ? undefined : userAgent.length > userAgentLimit ? `${userAgent.slice(0, userAgentLimit)}...TRUNCATED` : userAgent,
    }),
    ...defined({ objectRef }),
    requestReceivedTimestamp: microTime(receivedMicros),
  }
}

function reference({ info }: RequestContext): V1ObjectReference {
  const { resource, namespace, name, group, version, subresource } = info
  return {
    resource,
    ...omitEmpty({ namespace, name, apiGroup: group }),
    apiVersion: version,
    ...omitEmpty({ subresource }),
  }
}

/** What the path does not say, the object may. Patches and options are no objects. */
function nameObject({ objectRef }: V1Event, object: Record<string, unknown>, verb: string): void {
  if (objectRef === undefined || (verb !== 'create' && verb !== 'update')) return
  const metadata = (object['metadata'] ?? {}) as Record<string, unknown>
  for (const field of ['namespace', 'name', 'uid', 'resourceVersion'] as const) {
    const value = metadata[field]
    if (!objectRef[field] && typeof value === 'string' && value !== '') objectRef[field] = value
  }
}

function shownUser({ name, uid, groups, extra }: UserInfo): V1Event['user'] {
  return {
    username: name,
    ...omitEmpty({ uid, groups: [...groups], extra: extra as Record<string, string[]> }),
  }
}

/** Those that proxies vouch for first, then the connection's own. */
function sourceIps({ headers, exchange }: RequestContext): string[] {
  const forwarded = headers['x-forwarded-for']
  const claimed = (typeof forwarded === 'string' ? forwarded : (forwarded ?? []).join(',')).split(',').map((ip) => ip.trim())
  const real = headers['x-real-ip']
  const ips = claimed.filter((ip) => ip !== '')
  if (ips.length === 0 && typeof real === 'string' && real !== '') ips.push(real)
  const remote = exchange.connection.remoteAddress.replace(/^::ffff:/, '')
  if (remote !== '' && ips.at(-1) !== remote) ips.push(remote)
  return ips
}

function statusOf(code: number): V1Status {
  return { metadata: {}, code }
}

/** What went wrong, without the object it went wrong with. */
function failureOf(body: Uint8Array | string | undefined, contentType: string, code: number): V1Status {
  if (body === undefined) return statusOf(code)
  const object = bodyObject(typeof body === 'string' ? Buffer.from(body) : body, contentType)
  if (object?.['kind'] !== 'Status') return statusOf(code)
  const { status, message, reason, details } = object as V1Status
  return {
    metadata: {},
    ...defined({ status, message, reason, details: details ?? undefined }),
    code,
  }
}

function shown(object: Record<string, unknown>, { omitManagedFields }: AuditDecision): Record<string, unknown> {
  return omitManagedFields ? withoutManagedFields(object) : object
}

/** `2026-01-31T12:00:00.123456Z` */
function microTime(micros: number): string {
  const iso = new Date(Math.floor(micros / 1000)).toISOString()
  return `${iso.slice(0, -1)}${String(micros % 1000).padStart(3, '0')}Z`
}
