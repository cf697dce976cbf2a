/** Requests to the API server, and its refusals as errors. */

import { parseJson } from '#api/codec/parse-json.ts'
import { genericServerResponse } from '#api/meta/server-response.ts'
import type { V1Status } from '#api/meta/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { ApiError, ConnectionError } from '#cli/cli-error.ts'
import type { Transport, TransportRequest, TransportResponse } from '#client/transport.ts'

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

export type RestRequest = {
  method?: TransportRequest['method']
  path: string
  query?: Query
  body?: unknown
  contentType?: string
  accept?: string
  signal?: AbortSignal
  /** Warnings of the server are not told. */
  isQuiet?: boolean
}

export type RestOptions = {
  transport: Transport
  server: string
  userAgent: string
  /** Ends requests that take longer; 0: none. */
  timeoutMs: number
  /** Sent with each request, so that administrators see which commands are used. */
  headers: Record<string, string>
  onWarning(text: string): void
}

export class Rest {
  readonly #options: RestOptions

  constructor(options: RestOptions) {
    this.#options = options
  }

  get server(): string {
    return this.#options.server
  }

  /** Requests end by themselves after some time: `--request-timeout`. */
  get hasTimeout(): boolean {
    return this.#options.timeoutMs > 0
  }

  /** Throws `ApiError` or `ConnectionError`. */
  async json<T = Record<string, unknown>>(request: RestRequest): Promise<T> {
    return parseJson(await this.text(request)) as T
  }

  async text(request: RestRequest): Promise<string> {
    const response = await this.open(request)
    return response.text()
  }

  /** The answer, of which nothing was read yet; one that is none of success was thrown. */
  async open(request: RestRequest): Promise<TransportResponse> {
    const response = await this.send(request)
    if (response.status >= 200 && response.status < 300) return response
    throw apiErrorOf(response.status, await response.text(), request, response.header('retry-after'))
  }

  async send({
    method = 'GET',
    path,
    query = {},
    body,
    contentType = 'application/json',
    accept = 'application/json',
    signal,
    isQuiet = false,
  }: RestRequest): Promise<TransportResponse> {
    const { transport, userAgent, timeoutMs, headers: always, onWarning } = this.#options
    const target = `${path}${queryText(timeoutMs > 0 ? { ...query, timeout: `${timeoutMs / 1000}s` } : query)}`
    const headers: Record<string, string> = {
      ...always,
      accept,
      'user-agent': userAgent,
      ...defined({ 'content-type': body === undefined ? undefined : contentType }),
    }
    const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined
    const signals = [signal, limit].filter((each) => each !== undefined)
    try {
      const response = await transport.send({
        method,
        target,
        headers,
        ...defined({
          body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
          signal: signals.length === 0 ? undefined : signals.length === 1 ? (signals[0] as AbortSignal) : AbortSignal.any(signals),
        }),
      })
      if (!isQuiet) for (const warning of warningsIn(response.header('warning'))) onWarning(warning)
      return response
    } catch (error) {
      if (signal?.aborted) throw error
      if (limit?.aborted)
        throw new ConnectionError(
          hostOf(this.server),
          new Error(`net/http: request canceled (Client.Timeout exceeded while awaiting headers)`),
        )
      if (error instanceof Error && 'code' in error) throw new ConnectionError(hostOf(this.server), error)
      throw error
    }
  }
}

export function queryText(query: Query): string {
  const parts = new URLSearchParams()
  for (const [name, value] of Object.entries(query).sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (value === undefined || value === '' || value === false) continue
    for (const each of Array.isArray(value) ? value : [value]) parts.append(name, String(each))
  }
  const text = parts.toString()
  return text === '' ? '' : `?${text}`
}

const hostOf = (server: string): string => server.replace(/^[a-z]+:\/\//, '').replace(/\/.*$/, '')

/** `299 - "text"`, several joined by commas. */
function warningsIn(header: string | undefined): string[] {
  if (header === undefined) return []
  // Headers are read as bytes, a character each.
  const text = Buffer.from(header, 'latin1').toString()
  return [...text.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, quoted = '']) => quoted.replace(/\\(.)/g, '$1'))
}

function apiErrorOf(code: number, text: string, { method = 'GET', path }: RestRequest, retryAfter?: string): ApiError {
  try {
    const status = parseJson(text) as V1Status
    if (status.kind === 'Status') return new ApiError(status)
  } catch {
    // Whoever answered is no API server.
  }
  const parts = path.split('/').filter((part) => part !== '')
  const resource = { group: '', resource: /^\/apis?\//.test(path) ? (parts.at(-1) ?? '') : '' }
  const verb = method.toLowerCase()
  const { status } = genericServerResponse({
    code,
    verb,
    resource,
    name: '',
    message: text.trim(),
    ...defined({ retryAfterSeconds: retryAfter === undefined ? undefined : Number(retryAfter) }),
  })
  return new ApiError(status)
}
