/** Users of OpenStack: their passwords and tokens are checked by Keystone, its identity service (API v3, and v2.0 for passwords). */
import {
  type Authenticator,
  type AuthResult,
  type TokenAuthenticator,
  Unauthenticated,
  type UserInfo,
} from '#apiserver/authn/authenticator.ts'
import { cachedTokenAuthenticator } from '#apiserver/authn/cached-tokens.ts'
import { headerValue } from '#apiserver/authn/header-values.ts'
import type { Clock } from '#base/clock.ts'
import type { HttpClient } from '#base/http-client.ts'
import type { Random } from '#base/random.ts'
import { trimEndOf } from '#base/trim-end.ts'

export type KeystoneOptions = {
  /** `https://keystone.example.com:5000/v3` */
  url: string
  http: HttpClient
  clock: Clock
  random: Random
}

export type Keystone = {
  /** Answers for `Authorization: Basic`. */
  readonly passwords: Authenticator
  readonly tokens: TokenAuthenticator
}

type Named = { id?: string; name?: string }
type TokenBody = {
  user?: Named & { domain?: Named }
  project?: Named & { domain?: Named }
  roles?: readonly Named[]
}

/** As long as webhooks' answers hold. */
const cacheMs = 120_000
const answerLimitBytes = 1 << 20
/** As long as upstream waits for those it asks about tokens. */
const answerLimitMs = 30_000
const extraPrefix = 'alpha.kubernetes.io/identity'

export function keystoneAuthentication({ url, http, clock, random }: KeystoneOptions): Keystone {
  const base = trimEndOf(url, '/')
  const isOld = base.endsWith('/v2.0')
  const versioned = isOld || base.endsWith('/v3') ? base : `${base}/v3`

  const ask = async (method: string, path: string, headers: Record<string, string>, body?: object): Promise<object | undefined> => {
    const abort = new AbortController()
    using _ = clock.after(answerLimitMs, () => abort.abort(new Error(`keystone at ${versioned} has not answered for ${answerLimitMs} ms`)))
    const response = await http.request({
      ...{ url: `${versioned}${path}`, method, signal: abort.signal },
      headers: { accept: 'application/json', ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text(answerLimitBytes)
    if (response.status === 200 || response.status === 201) return JSON.parse(text) as object
    if (response.status === 401 || response.status === 404) return undefined
    throw new Error(`keystone at ${versioned} answered ${response.status}: ${text.slice(0, 200)}`)
  }

  const checkPassword = async (name: string, password: string): Promise<AuthResult | undefined> => {
    if (isOld) {
      const answer = await ask('POST', '/tokens', {}, { auth: { passwordCredentials: { username: name, password } } })
      const user = (answer as { access?: { user?: Named } } | undefined)?.access?.user
      return answer === undefined ? undefined : { user: userOf({ user: { ...user, name } }) }
    }
    const user = { name, password, domain: { id: 'default' } }
    const answer = await ask('POST', '/auth/tokens', {}, { auth: { identity: { methods: ['password'], password: { user } } } })
    const { token } = (answer ?? {}) as { token?: TokenBody }
    return token === undefined ? undefined : { user: userOf(token) }
  }

  // A password is asked about as seldom as a token is, and kept as little.
  const cached = (tokens: TokenAuthenticator) =>
    cachedTokenAuthenticator(tokens, { clock, random, acceptedTtlMs: cacheMs, unknownTtlMs: 0 })
  const passwords = cached({
    authenticateToken: (pair) => checkPassword(pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)),
  })
  return {
    passwords: {
      async authenticate(credentials) {
        const header = headerValue(credentials, 'authorization').trim()
        if (!/^basic /i.test(header)) return undefined
        const pair = Buffer.from(header.slice(6).trim(), 'base64').toString('utf8')
        const result = pair.includes(':') ? await passwords.authenticateToken(pair, []) : undefined
        if (result === undefined) throw new Unauthenticated('invalid username/password combination')
        return result
      },
    },
    tokens: cached({
      async authenticateToken(token) {
        // Its values are header values: others cannot be tokens of Keystone.
        if (isOld || !/^[\x21-\x7e]+$/.test(token)) return undefined
        const answer = await ask('GET', '/auth/tokens', { 'x-auth-token': token, 'x-subject-token': token })
        const { token: body } = (answer ?? {}) as { token?: TokenBody }
        return body === undefined ? undefined : { user: userOf(body) }
      },
    }),
  }
}

/** Groups and extra values as Keystone's own webhook for Kubernetes gives them. */
function userOf({ user, project, roles = [] }: TokenBody): UserInfo {
  const extra: Record<string, string[]> = {}
  const put = (key: string, value: string | undefined) => {
    if (value) extra[`${extraPrefix}/${key}`] = [value]
  }
  put('project/id', project?.id)
  put('project/name', project?.name)
  put('user/domain/id', user?.domain?.id)
  put('user/domain/name', user?.domain?.name)
  const names = roles.flatMap(({ name }) => name ?? [])
  if (names.length > 0) extra[`${extraPrefix}/roles`] = names
  return { name: user?.name ?? '', uid: user?.id ?? '', groups: project?.id ? [project.id] : [], extra }
}
