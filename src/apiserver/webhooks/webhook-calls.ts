/** Calls from the API server to the webhooks of a cluster, named by service or by URL: the same for admission and for conversion. */

import { quoted } from '#api/meta/check.ts'
import { genericServerResponse } from '#api/meta/server-response.ts'
import { dialTrouble } from '#apiserver/node-connections/dial-trouble.ts'
import type { ServiceReference } from '#apiserver/webhooks/service-routes.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { HttpClient, HttpClientOptions, HttpClientResponse } from '#base/http-client.ts'

/** As webhook configurations and conversions of custom resources have it. */
export type WebhookClientConfig = {
  readonly url?: string
  readonly service?: { readonly namespace: string; readonly name: string; readonly port?: number; readonly path?: string }
  /** PEM, in base64; the authorities this machine trusts where absent. */
  readonly caBundle?: string
}

export type WebhookCall = {
  /** Sent as JSON. */
  readonly body: string
  /** For everything: finding the service, connecting, sending, and reading the answer to its end. */
  readonly timeoutMs: number
  /** A longer answer is not read any further. */
  readonly answerLimitBytes: number
  /** Without the question mark. */
  readonly query?: string
  readonly signal?: AbortSignal
  /** By `host:port`; undefined: nothing is shown. */
  readonly credentialsFor?: ((hostPort: string) => Promise<WebhookCredentials | undefined>) | undefined
}

/** What the server shows of itself to a webhook. */
export type WebhookCredentials = { readonly connection: HttpClientOptions; readonly headers: Readonly<Record<string, string>> }

export type WebhookCallsOptions = {
  clock: Clock
  makeClient(options: HttpClientOptions): HttpClient
  /** `host:port` of a pod of the service. */
  hostOf(service: ServiceReference): Promise<string>
}

/** There is no usable answer. The message is the one upstream's client would give: `Post "https://…": context deadline exceeded`. */
export class WebhookCallFailed extends Error {
  override name = 'WebhookCallFailed'
  /** Of the answer; 0 where there is none. */
  readonly code: number

  constructor(message: string, code = 0, options: ErrorOptions = {}) {
    super(message, options)
    this.code = code
  }
}

type Target = { readonly url: string; readonly dialed: string; readonly serverName: string | undefined; readonly hostPort: string }
type Kept = { readonly client: HttpClient; underWay: number; isForgotten: boolean }

/** How many sets of certificates connections are kept for. */
const keptClients = 64

export class WebhookCalls implements Disposable {
  readonly #options: WebhookCallsOptions
  /** By what they trust and show; the one used last comes last. */
  readonly #clients = new Map<string, Kept>()

  constructor(options: WebhookCallsOptions) {
    this.#options = options
  }

  /** The text of the answer, which came with success. Throws `WebhookCallFailed`. */
  async post(config: WebhookClientConfig, call: WebhookCall): Promise<string> {
    const abort = new AbortController()
    const cancel = () => abort.abort(new Error('context canceled'))
    call.signal?.addEventListener('abort', cancel)
    using _ = this.#options.clock.after(call.timeoutMs, () => abort.abort(new Error('context deadline exceeded')))
    const shown = shownUrl(config, call.query)
    try {
      const aborted = new Promise<never>((_, reject) => abort.signal.addEventListener('abort', () => reject(abort.signal.reason)))
      if (call.signal?.aborted) cancel()
      return await Promise.race([this.#sent(config, call, abort.signal), aborted])
    } catch (error) {
      if (error instanceof WebhookCallFailed) throw error
      const why = abort.signal.aborted ? (abort.signal.reason as Error).message : (error as Error).message
      throw new WebhookCallFailed(`Post ${quoted(shown)}: ${why}`, 0, { cause: error })
    } finally {
      call.signal?.removeEventListener('abort', cancel)
    }
  }

  [Symbol.dispose](): void {
    for (const { client } of this.#clients.values()) client[Symbol.dispose]()
    this.#clients.clear()
  }

  async #sent(
    config: WebhookClientConfig,
    { body, query, answerLimitBytes, credentialsFor }: WebhookCall,
    signal: AbortSignal,
  ): Promise<string> {
    const { url, dialed, serverName, hostPort } = await this.#targetOf(config, query)
    const shown = await credentialsFor?.(hostPort)
    const kept = this.#clientFor({
      ...defined({ ca: config.caBundle ? trusted(config.caBundle) : undefined, serverName }),
      resendsOnClosedConnection: true,
      ...shown?.connection,
    })
    kept.underWay++
    try {
      const headers = { 'content-type': 'application/json', accept: 'application/json, */*', host: hostOf(url), ...shown?.headers }
      const response = await kept.client.request({ url: dialed, method: 'POST', headers, body, signal }).catch((error: unknown) => {
        throw new Error(dialTrouble(error, new URL(dialed).host, 'https'), { cause: error })
      })
      return await textOf(response, answerLimitBytes)
    } finally {
      kept.underWay--
      if (kept.isForgotten && kept.underWay === 0) kept.client[Symbol.dispose]()
    }
  }

  async #targetOf(config: WebhookClientConfig, query = ''): Promise<Target> {
    const { service } = config
    const url = shownUrl(config, query)
    if (service == null) {
      const { hostname, port } = new URL(url)
      return { url, dialed: url, serverName: undefined, hostPort: `${hostname}:${port || 443}` }
    }
    const { namespace, name, port = 443 } = service
    const serverName = `${name}.${namespace}.svc`
    const host = await this.#options.hostOf({ namespace, name, port })
    return { url, dialed: `https://${host}${pathOf(service.path, query)}`, serverName, hostPort: `${serverName}:${port}` }
  }

  #clientFor(options: HttpClientOptions): Kept {
    const key = JSON.stringify(options)
    const known = this.#clients.get(key)
    if (known !== undefined) {
      this.#clients.delete(key)
      this.#clients.set(key, known)
      return known
    }
    const made: Kept = { client: this.#options.makeClient(options), underWay: 0, isForgotten: false }
    this.#clients.set(key, made)
    const [oldest] = this.#clients.entries()
    if (this.#clients.size > keptClients && oldest !== undefined) this.#forget(...oldest)
    return made
  }

  #forget(key: string, kept: Kept): void {
    this.#clients.delete(key)
    kept.isForgotten = true
    if (kept.underWay === 0) kept.client[Symbol.dispose]()
  }
}

function shownUrl({ url, service }: WebhookClientConfig, query = ''): string {
  if (service != null) {
    const { namespace, name, port = 443, path } = service
    return `https://${name}.${namespace}.svc:${port}${pathOf(path, query)}`
  }
  if (!url) throw new WebhookCallFailed('webhook configuration must have either service or URL')
  const parsed = new URL(url)
  return `${parsed.protocol}//${parsed.host}${pathOf(parsed.pathname, query)}`
}

/** As it is written: `URL` would leave the usual port out, which upstream does not. */
const hostOf = (url: string): string => url.split('/')[2] ?? ''

function pathOf(path = '', query = ''): string {
  const rooted = path.startsWith('/') ? path : `/${path}`
  return query === '' ? rooted : `${rooted}?${query}`
}

function trusted(caBundle: string): string {
  const pem = Buffer.from(caBundle, 'base64').toString('latin1')
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new Error('unable to load root certificates: unable to parse bytes as PEM block')
  return pem
}

async function textOf(response: HttpClientResponse, limitBytes: number): Promise<string> {
  const { status } = response
  const text = await response.text(limitBytes)
  if (status >= 200 && status <= 299) return text
  throw new WebhookCallFailed(failureText(status, text), status)
}

/** A Status speaks for itself; of anything else a client knows the code. */
function failureText(code: number, text: string): string {
  try {
    const body = JSON.parse(text) as { kind?: unknown; message?: unknown } | null
    if (body?.kind === 'Status' && typeof body.message === 'string' && body.message !== '') return body.message
  } catch {
    // Pages and plain texts say why in their own way.
  }
  const message = text.trim().slice(0, 2048) || 'unknown'
  return genericServerResponse({ code, verb: 'POST', resource: { group: '', resource: '' }, name: '', message, isUnexpected: true }).message
}
