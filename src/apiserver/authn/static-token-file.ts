import { type AuthResult, noExtra, type TokenAuthenticator } from '#apiserver/authn/authenticator.ts'
import { parseCsv } from '#apiserver/authn/csv.ts'
import type { Logger } from '#base/log.ts'

/** Tokens from a file of `token,user name,user uid[,"group,group"]`: they last until the file and the server change. */
export function staticTokenAuthenticator(csv: string, path: string, log: Logger): TokenAuthenticator {
  const tokens = new Map<string, AuthResult>()
  for (const [index, record] of parseCsv(csv).entries()) {
    if (record.length < 3) {
      throw new Error(`token file '${path}' must have at least 3 columns (token, user name, user uid), found ${record.length}`)
    }
    const [token = '', name = '', uid = '', groups] = record
    if (token === '') {
      log.warn('empty token in the token file', { path, record: index + 1 })
      continue
    }
    if (tokens.has(token)) log.warn('duplicate token in the token file', { path, record: index + 1 })
    tokens.set(token, { user: { name, uid, groups: groups === undefined ? [] : groups.split(','), extra: noExtra } })
  }
  return { authenticateToken: (token) => tokens.get(token) }
}

/** One token for one user, for tests. */
export function singleTokenAuthenticator(token: string, user: AuthResult['user']): TokenAuthenticator {
  const result: AuthResult = { user }
  return { authenticateToken: (candidate) => (candidate === token ? result : undefined) }
}
