import { timingSafeEqual } from 'node:crypto'
import { type AuthOutcome, noExtra, type TokenAuthenticator } from '#apiserver/authn/authenticator.ts'
import type { ClusterLookups, SecretLike } from '#apiserver/authn/cluster-lookups.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'

const tokenPattern = /^([a-z0-9]{6})\.([a-z0-9]{16})$/
const groupPattern = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/
const namespace = 'kube-system'
const secretType = 'bootstrap.kubernetes.io/token'

/** Tokens that new nodes join with; each is a secret of its own in kube-system. */
export function bootstrapTokenAuthenticator(lookups: Pick<ClusterLookups, 'lookupSecret'>, clock: Clock, log: Logger): TokenAuthenticator {
  return {
    authenticateToken(token): AuthOutcome {
      const [, id, secretPart] = tokenPattern.exec(token) ?? []
      if (id === undefined || secretPart === undefined) return undefined
      const secret = lookups.lookupSecret(namespace, `bootstrap-token-${id}`)
      if (secret === undefined) return undefined
      const flaw = whatIsWrong(secret, id, secretPart, clock.now())
      if (flaw !== undefined) {
        log.debug('refused bootstrap token', { secret: secret.metadata.name, flaw })
        return undefined
      }
      return { user: { name: `system:bootstrap:${id}`, groups: groupsOf(secret), extra: noExtra } }
    },
  }
}

function whatIsWrong(secret: SecretLike, id: string, secretPart: string, nowMs: number): string | undefined {
  if (secret.metadata.deletionTimestamp) return 'is deleted and awaiting removal'
  if (secret.type !== secretType || secret.data === undefined) return `has invalid type, expected ${secretType}`
  if (!isEqual(value(secret, 'token-secret'), secretPart)) return 'has invalid value for key token-secret'
  if (value(secret, 'token-id') !== id) return 'has invalid value for key token-id'
  if (bootstrapTokenHasExpired(secret, nowMs)) return 'has expired'
  if (value(secret, 'usage-bootstrap-authentication') !== 'true') return 'not marked usage-bootstrap-authentication=true'
  const wrong = extraGroups(secret).find((group) => !groupPattern.test(group))
  return wrong === undefined ? undefined : `has invalid value for key auth-extra-groups: ${wrong}`
}

/** A time that cannot be read has passed. */
function bootstrapTokenHasExpired(secret: SecretLike, nowMs: number): boolean {
  const expiration = value(secret, 'expiration')
  if (expiration === '') return false
  const isTime = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.test(expiration)
  return !isTime || !(Date.parse(expiration) > nowMs)
}

function groupsOf(secret: SecretLike): string[] {
  return [...new Set(['system:bootstrappers', ...extraGroups(secret)])].sort()
}

function extraGroups(secret: SecretLike): string[] {
  const text = value(secret, 'auth-extra-groups')
  return text === '' ? [] : text.split(',')
}

function value(secret: SecretLike, key: string): string {
  return Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8')
}

function isEqual(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}
