import { createHmac } from 'node:crypto'
import type { AuthOutcome, TokenAuthenticator } from '#apiserver/authn/authenticator.ts'
import { ExpiringCache } from '#apiserver/authn/expiring-cache.ts'
import type { Clock } from '#base/clock.ts'
import type { Random } from '#base/random.ts'

export type CachedTokensOptions = {
  clock: Clock
  random: Random
  acceptedTtlMs: number
  /** For tokens that nobody knows; errors are not remembered. */
  unknownTtlMs: number
}

const capacity = 32_768

/** Remembers for a while what a slow authenticator said of a token; those who ask at the same time wait for one answer. */
export function cachedTokenAuthenticator(tokens: TokenAuthenticator, options: CachedTokensOptions): TokenAuthenticator {
  const { clock, acceptedTtlMs, unknownTtlMs } = options
  const cache = new ExpiringCache<{ outcome: AuthOutcome }>(clock, capacity)
  const underWay = new Map<string, Promise<AuthOutcome>>()
  // Tokens are not to lie about in memory for minutes, and keys made of what clients send are not to be chosen by them.
  const secret = options.random.bytes(32)
  return {
    authenticateToken(token, audiences) {
      const key = createHmac('sha256', secret)
        .update(JSON.stringify([token, ...audiences]))
        .digest('base64')
      const known = cache.get(key)
      if (known !== undefined) return known.outcome
      const waiting = underWay.get(key)
      if (waiting !== undefined) return waiting
      const remember = (outcome: AuthOutcome): AuthOutcome => {
        cache.set(key, { outcome }, outcome === undefined ? unknownTtlMs : acceptedTtlMs)
        return outcome
      }
      const outcome = tokens.authenticateToken(token, audiences)
      if (!(outcome instanceof Promise)) return remember(outcome)
      const asked = outcome.then(remember).finally(() => underWay.delete(key))
      underWay.set(key, asked)
      return asked
    },
  }
}
