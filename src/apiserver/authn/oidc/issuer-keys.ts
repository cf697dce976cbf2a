import type { JSONWebKeySet } from 'jose'
import type { Clock, Timer } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { HttpClient } from '#base/http-client.ts'
import type { Logger } from '#base/log.ts'

export type IssuerKeysOptions = { issuer: string; discoveryUrl: string; http: HttpClient; clock: Clock; log: Logger }

const retryMs = 10_000
/** Anybody can send a token with an unknown key; the issuer is not to feel it. */
const refetchAfterMs = 1000
const timeoutMs = 30_000

/** The keys an issuer signs with, found through its discovery document, and fetched again when a token names an unknown one. */
export class IssuerKeys implements Disposable {
  readonly #options: IssuerKeysOptions
  #keySetUrl: string | undefined
  #keys: JSONWebKeySet | undefined
  #fetchedMs = Number.NEGATIVE_INFINITY
  #fetching: Promise<JSONWebKeySet> | undefined
  #retry: Timer | undefined
  #problem: string | undefined

  constructor(options: IssuerKeysOptions) {
    this.#options = options
    this.#problem = `oidc: authenticator for issuer ${JSON.stringify(options.issuer)} is not initialized`
  }

  /** Why no token of the issuer can be verified at the moment. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Looks the issuer up, and again until it answers: it may run on this very cluster. Resolves after the first try. */
  async discover(): Promise<void> {
    try {
      this.#keySetUrl = await this.#discoveredKeySetUrl()
      await this.#fetch()
      this.#problem = undefined
    } catch (error) {
      this.#problem = errorMessage(error)
      this.#options.log.warn('failed OIDC discovery of issuer', { issuer: this.#options.issuer, error: this.#problem })
      this.#retry = this.#options.clock.after(retryMs, () => void this.discover())
    }
  }

  /** What is known; undefined before the issuer was reached. */
  get known(): JSONWebKeySet | undefined {
    return this.#keys
  }

  /** The keys as the issuer has them now, unless it was asked a moment ago. */
  async refreshed(): Promise<JSONWebKeySet | undefined> {
    if (this.#keySetUrl === undefined) return undefined
    if (this.#options.clock.monotonic() - this.#fetchedMs < refetchAfterMs) return this.#keys
    return this.#fetch()
  }

  [Symbol.dispose](): void {
    this.#retry?.cancel()
    this.#options.http[Symbol.dispose]()
  }

  async #discoveredKeySetUrl(): Promise<string> {
    const { issuer, discoveryUrl } = this.#options
    const document = await this.#json(discoveryUrl)
    if (document['issuer'] !== issuer) {
      const found = JSON.stringify(document['issuer'])
      throw new Error(`oidc: issuer did not match the issuer returned by provider, expected ${JSON.stringify(issuer)} got ${found}`)
    }
    const url = document['jwks_uri']
    if (typeof url !== 'string' || !URL.canParse(url)) throw new Error('provider did not return JWKS URL')
    return url
  }

  #fetch(): Promise<JSONWebKeySet> {
    this.#fetching ??= this.#json(this.#keySetUrl ?? '')
      .then((document) => {
        if (!Array.isArray(document['keys'])) throw new Error(`${this.#keySetUrl} did not answer with a key set`)
        this.#keys = document as unknown as JSONWebKeySet
        this.#fetchedMs = this.#options.clock.monotonic()
        return this.#keys
      })
      .finally(() => {
        this.#fetching = undefined
      })
    return this.#fetching
  }

  async #json(url: string): Promise<Record<string, unknown>> {
    const { http, clock } = this.#options
    const abort = new AbortController()
    using _ = clock.after(timeoutMs, () => abort.abort(new Error(`${url} did not answer within ${timeoutMs} ms`)))
    const response = await http.request({ url, headers: { accept: 'application/json' }, signal: abort.signal })
    const text = await response.text(1 << 20)
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 200)}`)
    const value: unknown = JSON.parse(text)
    if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new Error(`${url} did not answer with an object`)
    return value as Record<string, unknown>
  }
}
