import type { JSONWebKeySet } from 'jose'
import { quoted } from '#api/meta/check.ts'
import {
  type AuthOutcome,
  credentialIdKey,
  type TokenAuthenticator,
  Unauthenticated,
  type UserInfo,
} from '#apiserver/authn/authenticator.ts'
import type { JwtConfiguration } from '#apiserver/authn/oidc/authentication-configuration.ts'
import { ComputedIdentity } from '#apiserver/authn/oidc/computed-identity.ts'
import { IssuerKeys } from '#apiserver/authn/oidc/issuer-keys.ts'
import { audiencesOf } from '#apiserver/authn/service-account/claims.ts'
import { type JwtClaims, parseJwt } from '#apiserver/authn/service-account/jwt.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { HttpClient, HttpClientOptions } from '#base/http-client.ts'
import type { Logger } from '#base/log.ts'

export type OidcOptions = {
  configuration: JwtConfiguration
  http: (options: HttpClientOptions) => HttpClient
  clock: Clock
  log: Logger
  /** RS256 where nothing is said. */
  signingAlgorithms?: readonly string[]
}

const allowedAlgorithms = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512']
const notBeforeLeewayMs = 5 * 60_000

/** Believes identity tokens of one OpenID provider. */
export class OidcAuthenticator implements TokenAuthenticator, Disposable {
  readonly #configuration: JwtConfiguration
  readonly #algorithms: string[]
  readonly #keys: IssuerKeys
  readonly #clock: Clock

  constructor({ configuration, http, clock, log, signingAlgorithms = [] }: OidcOptions) {
    const unknown = signingAlgorithms.find((algorithm) => !allowedAlgorithms.includes(algorithm))
    if (unknown !== undefined) throw new Error(`oidc: unsupported signing alg: ${quoted(unknown)}`)
    const { issuer, certificateAuthority, discoveryUrl } = configuration
    this.#configuration = configuration
    this.#algorithms = signingAlgorithms.length === 0 ? ['RS256'] : [...signingAlgorithms]
    this.#clock = clock
    this.#keys = new IssuerKeys({
      issuer,
      discoveryUrl: discoveryUrl ?? `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
      http: http(certificateAuthority === undefined ? {} : { ca: certificateAuthority }),
      clock,
      log,
    })
  }

  /** Resolves after the first try to reach the provider. */
  start(): Promise<void> {
    return this.#keys.discover()
  }

  get problem(): string | undefined {
    return this.#keys.problem
  }

  authenticateToken(token: string): AuthOutcome | Promise<AuthOutcome> {
    const parsed = parseJwt(token)
    if (parsed === undefined || issuerOf(parsed.claims) !== this.#configuration.issuer) return undefined
    return this.#authenticated(token, parsed.claims)
  }

  [Symbol.dispose](): void {
    this.#keys[Symbol.dispose]()
  }

  async #authenticated(token: string, claims: JwtClaims): Promise<AuthOutcome> {
    const { known } = this.#keys
    if (known === undefined) throw new Unauthenticated('oidc: authenticator not initialized')
    this.#mustBeMeantForUs(claims)
    await this.#mustBeSigned(token, known)
    return { user: userOf(claims, this.#configuration) }
  }

  #mustBeMeantForUs(claims: JwtClaims): void {
    const { audiences } = this.#configuration
    const found = audiencesOf(claims)
    if (!found.some((audience) => audiences.includes(audience))) {
      throw new Unauthenticated(
        `oidc: verify token: oidc: expected audience in [${audiences.map(quoted).join(' ')}] got [${found.map(quoted).join(' ')}]`,
      )
    }
    const nowMs = this.#clock.now()
    const { exp, nbf } = claims
    if (typeof exp !== 'number' || nowMs > exp * 1000) {
      const when = typeof exp === 'number' ? new Date(exp * 1000).toISOString() : 'none'
      throw new Unauthenticated(`oidc: verify token: oidc: token is expired (Token Expiry: ${when})`)
    }
    if (typeof nbf === 'number' && nowMs + notBeforeLeewayMs < nbf * 1000) {
      throw new Unauthenticated(`oidc: verify token: oidc: current time ${new Date(nowMs).toISOString()} before the nbf (not before) time`)
    }
  }

  /** With the keys at hand, and, if none fits, with those the issuer has now: it may have changed them. */
  async #mustBeSigned(token: string, known: JSONWebKeySet): Promise<void> {
    if (await this.#isSigned(token, known)) return
    const fresh = await this.#keys.refreshed()
    if (fresh !== undefined && fresh !== known && (await this.#isSigned(token, fresh))) return
    throw new Unauthenticated('oidc: verify token: failed to verify signature: failed to verify id token signature')
  }

  async #isSigned(token: string, keys: JSONWebKeySet): Promise<boolean> {
    const { compactVerify, createLocalJWKSet, errors } = await import('jose')
    const options = { algorithms: this.#algorithms }
    const verifies = (key: Parameters<typeof compactVerify>[1]) =>
      compactVerify(token, key, options).then(
        () => true,
        () => false,
      )
    try {
      await compactVerify(token, createLocalJWKSet(keys), options)
      return true
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return false
      for await (const key of error) if (await verifies(key)) return true
      return false
    }
  }
}

/** Google has two names for itself. */
function issuerOf({ iss }: JwtClaims): unknown {
  return iss === 'accounts.google.com' ? 'https://accounts.google.com' : iss
}

function userOf(claims: JwtClaims, { username, groups, uidClaim, requiredClaims, expressions }: JwtConfiguration): UserInfo {
  const computed = expressions && new ComputedIdentity(expressions, claims)
  const uid = uidClaim === undefined ? computed?.uid : text(claims, uidClaim, `oidc: parse uid claim ${quoted(uidClaim)}`)
  const user: UserInfo = {
    name: computed?.username ?? username.prefix + text(claims, username.claim, `oidc: parse username claims ${quoted(username.claim)}`),
    groups: groups === undefined ? (computed?.groups ?? []) : groupsOf(claims, groups),
    ...defined({ uid }),
    extra: {
      ...defined({ [credentialIdKey]: typeof claims['jti'] === 'string' && claims['jti'] !== '' ? [`JTI=${claims['jti']}`] : undefined }),
      ...computed?.extra,
    },
  }
  if (username.claim === 'email' && claims['email_verified'] !== undefined && claims['email_verified'] !== true) {
    throw new Unauthenticated('oidc: email not verified')
  }
  for (const [claim, value] of Object.entries(requiredClaims)) {
    if (claims[claim] === undefined) throw new Unauthenticated(`oidc: required claim ${claim} not present in ID token`)
    const found = text(claims, claim, `oidc: parse claim ${claim}`)
    if (found !== value) throw new Unauthenticated(`oidc: required claim ${claim} value does not match. Got = ${found}, want = ${value}`)
  }
  computed?.mustBeSound(user)
  return user
}

/** A single text counts as a list of one: some providers have a claim like `role`. */
function groupsOf(claims: JwtClaims, { claim, prefix }: { claim: string; prefix: string }): string[] {
  const value = claims[claim]
  if (value === undefined) return []
  const list = typeof value === 'string' ? [value] : value
  if (!Array.isArray(list) || !list.every((group): group is string => typeof group === 'string')) {
    throw new Unauthenticated(`oidc: parse groups claim ${quoted(claim)}: it is neither a text nor a list of texts`)
  }
  return list.map((group) => prefix + group)
}

function text(claims: JwtClaims, claim: string, what: string): string {
  const value = claims[claim]
  if (value === undefined) throw new Unauthenticated(`${what}: claim not present`)
  if (typeof value !== 'string') throw new Unauthenticated(`${what}: it is not a text`)
  return value
}
