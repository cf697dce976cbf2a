/** One request on its way through the server: what is known of it so far. */

import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import type { RequestInfo } from '#apiserver/http/request-info.ts'
import type { HttpExchange } from '#base/http-server.ts'

export class RequestContext {
  readonly exchange: HttpExchange
  readonly info: RequestInfo
  readonly query: URLSearchParams
  /** Nobody until the request was authenticated; somebody else after that where it impersonates. */
  user: UserInfo
  /** By the clock's `monotonic`; undefined for requests without an end, and for those that only read. */
  deadlineMs: number | undefined
  /** For how long it has kept everybody else waiting, as far as it was large enough for anybody to look. */
  heldMs = 0
  #warnings: Set<string> | undefined
  #warningChars = 0
  #annotations: Record<string, string> | undefined
  #bodyAnnotations: Record<string, string> | undefined

  constructor(exchange: HttpExchange, info: RequestInfo, query: URLSearchParams, user: UserInfo) {
    this.exchange = exchange
    this.info = info
    this.query = query
    this.user = user
  }

  get headers(): HttpExchange['headers'] {
    return this.exchange.headers
  }

  /** A text for the Warning header; the same text is sent once. */
  warn = (text: string): void => {
    // Past the limit none would be sent, and a large object can be warned of a hundred thousand times.
    if (this.#warningChars > totalLimit) return
    // No header can have these in it, and upstream leaves such warnings out.
    if (text === '' || control.test(text)) return
    this.#warnings ??= new Set()
    if (this.#warnings.has(text)) return
    this.#warnings.add(text)
    this.#warningChars += shortened(text).length
  }

  /** With the level `Request`, for records of bodies only. */
  annotateAudit = (key: string, value: string, level: 'Metadata' | 'Request' = 'Metadata'): void => {
    if (level === 'Request') {
      this.#bodyAnnotations ??= {}
      this.#bodyAnnotations[key] = value
      return
    }
    this.#annotations ??= {}
    this.#annotations[key] = value
  }

  get auditAnnotationsOfBodies(): Readonly<Record<string, string>> {
    return this.#bodyAnnotations ?? none
  }

  get auditAnnotations(): Readonly<Record<string, string>> {
    return this.#annotations ?? none
  }

  /** The header's values, shortened as upstream does: all of them together may not grow past 4 KB. */
  warningHeaders(): string[] {
    return this.#warnings === undefined ? noWarnings : warningHeaders([...this.#warnings])
  }
}

const none: Readonly<Record<string, string>> = {}
const noWarnings: string[] = []

const totalLimit = 4096
const eachLimit = 256

function warningHeaders(warnings: readonly string[]): string[] {
  const whole = warnings.map(warningValue)
  if (whole.reduce((sum, value) => sum + value.length, 0) <= totalLimit) return whole
  const headers: string[] = []
  let total = 0
  for (const text of warnings) {
    const value = warningValue(shortened(text))
    total += value.length
    if (total > totalLimit) break
    headers.push(value)
  }
  return headers
}

const shortened = (text: string): string => (text.length > eachLimit ? text.slice(0, eachLimit) : text)

/** Headers are bytes, a character each: those of UTF-8. */
function warningValue(text: string): string {
  const quoted = `299 - "${text.replace(/["\\]/g, (char) => `\\${char}`)}"`
  return ascii.test(quoted) ? quoted : Buffer.from(quoted).toString('latin1')
}

const control = /\p{Cc}/u
const ascii = /^[\x20-\x7e]*$/
