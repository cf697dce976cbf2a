import type { KeyObject } from 'node:crypto'
import { Unauthenticated } from '#apiserver/authn/authenticator.ts'
import { isSignedBy, type JwtClaims, keyIdOf, parseJwt } from '#apiserver/authn/service-account/jwt.ts'

/** The keys to believe. A changed set is another array. */
export type PublicKeys = () => readonly KeyObject[]

const capacity = 32_768

/**
 * Remembers whose signature was good: a key that signed a token once has signed it for ever.
 * All that changes with time, the objects a token is bound to above all, is looked at on each use, by others.
 */
export class VerifiedTokens<T extends object> {
  readonly #issuers: ReadonlySet<string>
  readonly #keys: PublicKeys
  readonly #understand: (claims: JwtClaims, token: string) => T
  #knownKeys: readonly KeyObject[] = []
  #keysById = new Map<string, KeyObject[]>()
  /** In order of last use: the first is the next to go. */
  readonly #known = new Map<string, T>()

  /** `understand` makes of the claims what callers need; what it throws is not remembered. */
  constructor(issuers: readonly string[], keys: PublicKeys, understand: (claims: JwtClaims, token: string) => T) {
    this.#issuers = new Set(issuers)
    this.#keys = keys
    this.#understand = understand
  }

  /** Undefined for tokens of others; throws for those that claim to be ours and are not. */
  get(token: string): T | undefined {
    const keys = this.#keys()
    if (keys !== this.#knownKeys) this.#take(keys)
    const known = this.#known.get(token)
    if (known !== undefined) {
      // Moving it to the end each time would cost more than it saves: only when room is short.
      if (this.#known.size > capacity / 2) {
        this.#known.delete(token)
        this.#known.set(token, known)
      }
      return known
    }
    return this.#verified(token)
  }

  #verified(token: string): T | undefined {
    const parsed = parseJwt(token)
    const issuer = parsed?.claims['iss']
    if (parsed === undefined || typeof issuer !== 'string' || !this.#issuers.has(issuer)) return undefined
    const { kid } = parsed.header
    const candidates = kid === undefined ? this.#knownKeys : (this.#keysById.get(kid) ?? [])
    if (candidates.length === 0) throw new Unauthenticated('invalid signature, no keys found')
    if (!candidates.some((key) => isSignedBy(parsed, key))) {
      throw new Unauthenticated('go-jose/go-jose: error in cryptographic primitive')
    }
    const understood = this.#understand(parsed.claims, token)
    if (this.#known.size >= capacity) this.#known.delete(this.#known.keys().next().value ?? '')
    this.#known.set(token, understood)
    return understood
  }

  #take(keys: readonly KeyObject[]): void {
    this.#knownKeys = keys
    this.#keysById = Map.groupBy(keys, keyIdOf)
    this.#known.clear()
  }
}
