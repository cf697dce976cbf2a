import { createPublicKey, type KeyObject } from 'node:crypto'
import { type TokenContent, tokenClaims } from '#apiserver/authn/service-account/claims.ts'
import { algorithmOf, keyIdOf, signJwt } from '#apiserver/authn/service-account/jwt.ts'
import type { Clock } from '#base/clock.ts'
import type { Random } from '#base/random.ts'

export type TokenSignerOptions = {
  issuer: string
  privateKey: () => KeyObject
  clock: Clock
  random: Random
}

export type IssuedToken = { token: string; id: string }

/** Makes service account tokens. */
export class TokenSigner {
  readonly #options: TokenSignerOptions
  #key: KeyObject | undefined
  #keyId = ''

  constructor(options: TokenSignerOptions) {
    this.#options = options
    algorithmOf(options.privateKey())
  }

  sign(content: Omit<TokenContent, 'issuer' | 'id' | 'nowMs'>): IssuedToken {
    const { issuer, clock, random, privateKey } = this.#options
    const key = privateKey()
    if (key !== this.#key) {
      this.#key = key
      this.#keyId = keyIdOf(createPublicKey(key))
    }
    const id = random.uuid()
    return { token: signJwt(tokenClaims({ ...content, issuer, id, nowMs: clock.now() }), key, this.#keyId), id }
  }
}
