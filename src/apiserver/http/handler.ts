/** The way of a request: who, may they, what, and the answer. */
import { internalError, requestEntityTooLarge, StatusError, unauthorized } from '#api/meta/status-error.ts'
import { type Authenticator, Unauthenticated, type UserInfo } from '#apiserver/authn/authenticator.ts'
import { impersonate, isImpersonated } from '#apiserver/authn/impersonation.ts'
import type { Attributes, Authorizer, Verdict } from '#apiserver/authz/authorizer.ts'
import { Forbidden, forbidden } from '#apiserver/authz/forbidden.ts'
import { contentTypeOf, encodeValue } from '#apiserver/http/answers.ts'
import { RequestContext } from '#apiserver/http/context.ts'
import { type Form, negotiate } from '#apiserver/http/negotiation.ts'
import { denied, serverCouldNotFind } from '#apiserver/http/refusals.ts'
import { type RequestInfo, requestInfo } from '#apiserver/http/request-info.ts'
import { selectorAttributes } from '#apiserver/http/selector-attributes.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import { BodyTooLargeError, type HttpExchange, type HttpHeaders } from '#base/http-server.ts'
import type { Logger } from '#base/log.ts'

/** Answers one kind of request; it has been authenticated and authorized. */
export type Endpoint = (context: RequestContext) => void | Promise<void>

/** What the chain asks of the rest of the server. */
export type HandlerOptions = {
  authenticator: Authenticator
  authorizer: Authorizer
  /** The endpoint for a request, or undefined where there is none. */
  route(info: RequestInfo, method: string): Endpoint | undefined
  logger: Logger
  /** Runs around every request that got as far as having a user: audit, flow control, metrics. */
  around?(context: RequestContext, next: () => Promise<void>): Promise<void>
}

export class ApiHandler {
  readonly #options: HandlerOptions

  constructor(options: HandlerOptions) {
    this.#options = options
  }

  handle = (exchange: HttpExchange): void => {
    const { path, query } = splitTarget(exchange.target)
    const info = requestInfo(exchange.method, path, query)
    void this.#serve(exchange, info, query).catch((error) => {
      this.#options.logger.error('a request could not be answered', { path, error: String(error) })
    })
  }

  async #serve(exchange: HttpExchange, info: RequestInfo, query: URLSearchParams): Promise<void> {
    let context = new RequestContext(exchange, info, query, nobody)
    try {
      const found = this.#identify(exchange, info)
      const user = found instanceof Promise ? await found : found
      context = new RequestContext(exchange, info, query, user.user)
      for (const warning of user.warnings ?? []) context.warn(warning)
      if (isImpersonated(exchange.headers)) {
        const asked = attributesOf(context.user, info, query)
        const assumed = await impersonate(context.user, exchange.headers, exchange.rawHeaders, this.#options.authorizer, asked)
        context = new RequestContext(exchange, info, query, assumed)
      }
      const attributes = attributesOf(context.user, info, query)
      const verdict = this.#options.authorizer.authorize(attributes)
      ensureAllowed(attributes, verdict instanceof Promise ? await verdict : verdict)
      const endpoint = this.#options.route(info, exchange.method)
      if (endpoint === undefined) throw serverCouldNotFind()
      const { around } = this.#options
      const run = async () => {
        const pending = endpoint(context)
        if (pending !== undefined) await pending
      }
      await (around ? around(context, run) : run())
    } catch (error) {
      respondError(context, error, this.#options.logger)
    }
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

const nobody: UserInfo = { name: '', groups: [], extra: {} }

export function attributesOf(user: UserInfo, info: RequestInfo, query: URLSearchParams): Attributes {
  const { verb, namespace, group, version, resource, subresource, name, path, isResourceRequest } = info
  const attributes = { user, verb, namespace, group, version, resource, subresource, name, path, isResourceRequest }
  const isSelective = verb === 'list' || verb === 'watch' || verb === 'deletecollection'
  return isSelective && isResourceRequest ? { ...attributes, ...selectorAttributes(query) } : attributes
}

function ensureAllowed(attributes: Attributes, verdict: Verdict): void {
  if (verdict.decision !== 'allow') throw forbidden(attributes, verdict.reason)
}

function splitTarget(target: string): { path: string; query: URLSearchParams } {
  const mark = target.indexOf('?')
  if (mark < 0) return { path: target, query: noQuery }
  return { path: target.slice(0, mark), query: new URLSearchParams(target.slice(mark + 1)) }
}

const noQuery = new URLSearchParams()

/** Sends what went wrong as a Status, in the form the client takes, or as JSON where it takes none. */
export function respondError(context: RequestContext, thrown: unknown, logger: Logger): void {
  const error = statusErrorOf(thrown, logger)
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

function statusErrorOf(thrown: unknown, logger: Logger): StatusError {
  if (thrown instanceof StatusError) return thrown
  if (thrown instanceof Forbidden) return denied(thrown)
  if (thrown instanceof Unauthenticated) return unauthorized()
  if (thrown instanceof BodyTooLargeError) return requestEntityTooLarge(`limit is 3145728`)
  logger.error('a request failed', { error: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) })
  return internalError(thrown instanceof Error ? thrown.message : String(thrown))
}

export function addWarnings(context: RequestContext, headers: HttpHeaders): void {
  const warnings = context.warningHeaders()
  if (warnings.length > 0) headers['warning'] = warnings
}
