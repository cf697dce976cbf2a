import { createHash, timingSafeEqual } from 'node:crypto'
import { type Authenticator, type AuthResult, noExtra, Unauthenticated } from '#apiserver/authn/authenticator.ts'
import { parseCsv } from '#apiserver/authn/csv.ts'
import { headerValue } from '#apiserver/authn/header-values.ts'

/**
 * Names and passwords from a file of `password,user name,user uid[,"group,group"]`.
 * Upstream took this out in v1.19; it is here for clusters that still have such a file.
 */
export function basicAuthAuthenticator(csv: string, path: string): Authenticator {
  const users = new Map<string, { password: Buffer; result: AuthResult }>()
  for (const record of parseCsv(csv)) {
    if (record.length < 3) {
      throw new Error(`password file '${path}' must have at least 3 columns (password, user name, user uid), found ${record.length}`)
    }
    const [password = '', name = '', uid = '', groups] = record
    const user = { name, uid, groups: groups === undefined ? [] : groups.split(','), extra: noExtra }
    users.set(name, { password: digest(password), result: { user } })
  }
  return {
    authenticate(credentials) {
      const header = headerValue(credentials, 'authorization').trim()
      if (!/^basic /i.test(header)) return undefined
      const text = Buffer.from(header.slice(6).trim(), 'base64').toString('utf8')
      const colon = text.indexOf(':')
      const entry = users.get(text.slice(0, Math.max(colon, 0)))
      const isRight = timingSafeEqual(entry?.password ?? noPassword, digest(text.slice(colon + 1)))
      if (colon < 0 || entry === undefined || !isRight) throw new Unauthenticated('invalid username/password combination')
      return entry.result
    },
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
const noPassword = Buffer.alloc(32)
