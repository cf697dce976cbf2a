import type { KeyObject } from 'node:crypto'
import { Unauthenticated } from '#apiserver/authn/authenticator.ts'
import { isSignedBy, type JwtClaims, keyIdOf, parseJwt } from '#apiserver/authn/service-account/jwt.ts'

/** The keys to believe. A changed set is another array. */
export type PublicKeys = () => readonly KeyObject[]

/** Characters of all tokens that are remembered: a token has about a thousand. */
const capacity = 1 << 25
/** Of one: with thousands of audiences it may have any number. */
const longest = 1 << 14

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
  #characters = 0

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
      if (this.#characters > capacity / 2) {
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
    if (token.length <= longest) this.#remember(token, understood)
    return understood
  }

  #remember(token: string, understood: T): void {
    this.#known.set(token, understood)
    this.#characters += token.length
    for (const oldest of this.#known.keys()) {
      if (this.#characters <= capacity) return
      this.#known.delete(oldest)
      this.#characters -= oldest.length
    }
  }

  #take(keys: readonly KeyObject[]): void {
    this.#knownKeys = keys
    this.#keysById = Map.groupBy(keys, keyIdOf)
    this.#known.clear()
    this.#characters = 0
  }
}
