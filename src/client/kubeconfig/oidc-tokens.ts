/** Tokens of an OpenID Connect provider, as `auth-provider: {name: oidc}` of a kubeconfig names it: renewed when they are about to expire. */

import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { HttpClient, HttpClientOptions } from '#base/http-client.ts'
import { omitEmpty } from '#base/omit-empty.ts'

/** `id-token`, `refresh-token`, `client-id`, `client-secret`, `idp-issuer-url`, `idp-certificate-authority-data`, … */
export type OidcConfig = Readonly<Record<string, string>>

export type OidcSeams = {
  clock: Clock
  http(options: HttpClientOptions): HttpClient
  /** PEM of the provider's authority; absent: the system's. */
  authority?: string
  /** Told of new tokens, which may be the only ones that are still good. */
  keep?(config: OidcConfig): Promise<void>
}

const earlyMs = 10_000

export class OidcTokens {
  #config: OidcConfig
  readonly #seams: OidcSeams
  #renewing: Promise<string> | undefined

  constructor(config: OidcConfig, seams: OidcSeams) {
    for (const key of ['idp-issuer-url', 'client-id']) if (!config[key]) throw new Error(`Must provide ${key}`)
    this.#config = config
    this.#seams = seams
  }

  async get(): Promise<string> {
    const token = this.#config['id-token']
    if (token && expiryMs(token) - earlyMs > this.#seams.clock.now()) return token
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renew(): Promise<string> {
    const refreshToken = this.#config['refresh-token']
    if (!refreshToken) throw new Error('No valid id-token, and cannot refresh without refresh-token')
    using http = this.#seams.http({ ...defined({ ca: this.#seams.authority }) })
    const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken })
    const basic = [this.#config['client-id'] ?? '', this.#config['client-secret'] ?? ''].map(encodeURIComponent).join(':')
    const answer = await http.request({
      url: await this.#tokenEndpoint(http),
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(basic).toString('base64')}`,
      },
      body: body.toString(),
    })
    const text = await answer.text(1 << 20)
    if (answer.status !== 200) throw new Error(`failed to refresh token: oauth2: cannot fetch token: ${answer.status}\nResponse: ${text}`)
    const tokens = JSON.parse(text) as { id_token?: string; refresh_token?: string }
    if (!tokens.id_token)
      throw new Error(
        "token response did not contain an id_token, either the scope 'openid' wasn't requested upon login, or the provider doesn't support id_tokens as part of the refresh response",
      )
    this.#config = {
      ...this.#config,
      'id-token': tokens.id_token,
      ...omitEmpty({ 'refresh-token': tokens.refresh_token }),
    }
    await this.#seams.keep?.(this.#config)
    return tokens.id_token
  }

  async #tokenEndpoint(http: HttpClient): Promise<string> {
    const issuer = (this.#config['idp-issuer-url'] ?? '').replace(/\/$/, '')
    const answer = await http.request({ url: `${issuer}/.well-known/openid-configuration` })
    const text = await answer.text(1 << 20)
    if (answer.status !== 200) throw new Error(`oidc: discovery error query endpoint: ${answer.status}: ${text}`)
    const endpoint = (JSON.parse(text) as { token_endpoint?: string }).token_endpoint
    if (!endpoint) throw new Error("oidc: discovery object doesn't contain a token_endpoint")
    return endpoint
  }
}

/** When a token ends, by its own words; 0 where it has none. */
function expiryMs(token: string): number {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { exp?: number }
    return (claims.exp ?? 0) * 1000
  } catch {
    return 0
  }
}
