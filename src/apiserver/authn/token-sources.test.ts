import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anonymousAuthenticator } from '#apiserver/authn/anonymous.ts'
import { forServerOnly } from '#apiserver/authn/audiences.ts'
import { withAuthenticatedGroup } from '#apiserver/authn/authenticated-group.ts'
import { type AuthOutcome, type Credentials, type TokenAuthenticator, Unauthenticated } from '#apiserver/authn/authenticator.ts'
import { basicAuthAuthenticator } from '#apiserver/authn/basic-auth-file.ts'
import { bearerTokenAuthenticator, webSocketProtocolsWithoutToken, webSocketTokenAuthenticator } from '#apiserver/authn/bearer-token.ts'
import { bootstrapTokenAuthenticator } from '#apiserver/authn/bootstrap-token.ts'
import type { SecretLike } from '#apiserver/authn/cluster-lookups.ts'
import { parseCsv } from '#apiserver/authn/csv.ts'
import { reviewToken, userInfo } from '#apiserver/authn/reviews.ts'
import { singleTokenAuthenticator, staticTokenAuthenticator } from '#apiserver/authn/static-token-file.ts'
import { otherwise, unionAuthenticator, unionTokenAuthenticator } from '#apiserver/authn/union.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const server = ['https://kubernetes.default.svc']

function request(headers: Record<string, string>, more: Partial<Credentials> = {}): Credentials {
  return { headers, rawHeaders: Object.entries(headers).flat(), path: '/api', remoteAddress: '127.0.0.1', ...more }
}

const tokenFile = staticTokenAuthenticator('abc,jane,1,"devs,ops"\n"d""q",quoted,2\n\n,empty,3\n', 'tokens.csv', silentLogger)
const bearer = bearerTokenAuthenticator(forServerOnly(server, tokenFile), server)

test('a token of the file is accepted, with its groups', () => {
  assert.deepEqual(bearer.authenticate(request({ authorization: 'Bearer abc' })), {
    user: { name: 'jane', uid: '1', groups: ['devs', 'ops'], extra: {} },
    audiences: server,
  })
  assert.deepEqual((tokenFile.authenticateToken('d"q', []) as Awaited<AuthOutcome>)?.user.name, 'quoted')
})

const refusedBearers: [string, string][] = [
  ['an unknown token', 'Bearer nope'],
  ['a changed token', 'Bearer abC'],
  ['a cut token', 'Bearer ab'],
  ['another separator', 'bearer abc,'],
]
for (const [what, authorization] of refusedBearers) {
  test(`${what} is a bad credential`, () => {
    assert.throws(
      () => bearer.authenticate(request({ authorization })),
      (error) => error instanceof Unauthenticated && error.message === 'invalid bearer token',
    )
  })
}

test('what is no bearer token is none of ours', () => {
  for (const authorization of ['', 'Bearer', 'Bearer ', 'Basic abc', 'abc', 'Bearerabc']) {
    assert.equal(bearer.authenticate(request({ authorization })), undefined, authorization)
  }
})

test('a space too many before the token is warned of', () => {
  const warnings: string[] = []
  assert.equal(bearer.authenticate(request({ authorization: 'Bearer  abc' }, { warn: (text) => warnings.push(text) })), undefined)
  assert.deepEqual(warnings, ['the provided Authorization header contains extra space before the bearer token, and is ignored'])
})

test('a token without audiences is good for this server alone', () => {
  const tokens = forServerOnly(server, tokenFile)
  assert.equal(tokens.authenticateToken('abc', ['https://elsewhere']), undefined)
  assert.deepEqual((tokens.authenticateToken('abc', ['x', ...server]) as Awaited<AuthOutcome>)?.audiences, server)
})

test('files with too few columns are refused', () => {
  assert.throws(
    () => staticTokenAuthenticator('abc,jane\n', 'f', silentLogger),
    /token file 'f' must have at least 3 columns \(token, user name, user uid\), found 2/,
  )
  assert.throws(() => basicAuthAuthenticator('abc,jane\n', 'f'), /must have at least 3 columns/)
})

test('comma-separated text is read as Go reads it', () => {
  const cases: [string, string[][]][] = [
    [
      'a,b\r\nc,d',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['"x,y","a\nb"\n', [['x,y', 'a\nb']]],
    ['a,\n', [['a', '']]],
    ['a,', [['a', '']]],
    ['\n\na', [['a']]],
    ['"",b', [['', 'b']]],
  ]
  for (const [text, expected] of cases) assert.deepEqual(parseCsv(text), expected, JSON.stringify(text))
  for (const text of ['"a', 'a"b,c', '"a"b,c']) assert.throws(() => parseCsv(text), /parse error on line 1/, text)
})

const basic = basicAuthAuthenticator('pa:ss,jane,1,devs\nsecret,joe,2\n', 'passwords.csv')
const basicHeader = (text: string) => request({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

test('a name and its password are accepted', () => {
  assert.deepEqual(basic.authenticate(basicHeader('jane:pa:ss')), { user: { name: 'jane', uid: '1', groups: ['devs'], extra: {} } })
  assert.equal(basic.authenticate(request({ authorization: 'Bearer x' })), undefined)
})

for (const text of ['jane:secret', 'nobody:pa:ss', 'jane', 'jane:', ':pa:ss', 'JANE:pa:ss']) {
  test(`the name and password ${JSON.stringify(text)} are refused`, () => {
    assert.throws(() => basic.authenticate(basicHeader(text)), /invalid username\/password combination/)
  })
}

const clock = new VirtualClock('2026-01-01T00:00:00Z')
const base64 = (text: string) => Buffer.from(text).toString('base64')
function bootstrapSecret(change: Record<string, string | undefined> = {}, secret: Partial<SecretLike> = {}): SecretLike {
  const data: Record<string, string | undefined> = {
    'token-id': 'abcdef',
    'token-secret': '0123456789abcdef',
    'usage-bootstrap-authentication': 'true',
    'auth-extra-groups': 'system:bootstrappers:workers,system:bootstrappers:aa',
    expiration: '2026-01-02T00:00:00Z',
    ...change,
  }
  return {
    metadata: { name: 'bootstrap-token-abcdef', uid: 'u' },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(Object.entries(data).flatMap(([key, value]) => (value === undefined ? [] : [[key, base64(value)]]))),
    ...secret,
  }
}
const bootstrap = (secret: SecretLike | undefined) =>
  bootstrapTokenAuthenticator(
    { lookupSecret: (namespace, name) => (namespace === 'kube-system' && name === 'bootstrap-token-abcdef' ? secret : undefined) },
    clock,
    silentLogger,
  )

test('a bootstrap token is accepted with its groups', () => {
  assert.deepEqual(bootstrap(bootstrapSecret()).authenticateToken('abcdef.0123456789abcdef', []), {
    user: {
      name: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers', 'system:bootstrappers:aa', 'system:bootstrappers:workers'],
      extra: {},
    },
  })
})

const refusedBootstrap: [string, SecretLike | undefined, string?][] = [
  ['expired', bootstrapSecret({ expiration: '2025-12-31T23:59:59Z' })],
  ['without a readable end', bootstrapSecret({ expiration: 'soon' })],
  ['with another secret', bootstrapSecret({ 'token-secret': '0123456789abcdee' })],
  ['with another id', bootstrapSecret({ 'token-id': 'abcdee' })],
  ['for signing only', bootstrapSecret({ 'usage-bootstrap-authentication': undefined })],
  ['of another type', bootstrapSecret({}, { type: 'Opaque' })],
  ['being deleted', bootstrapSecret({}, { metadata: { name: 'x', uid: 'u', deletionTimestamp: '2026-01-01T00:00:00Z' } })],
  ['in a group it may not name', bootstrapSecret({ 'auth-extra-groups': 'system:masters' })],
  ['gone', undefined],
  ['malformed', bootstrapSecret(), 'abcdef.0123456789ABCDEF'],
  ['of another name', bootstrapSecret(), 'abcdeg.0123456789abcdef'],
]
for (const [what, secret, token = 'abcdef.0123456789abcdef'] of refusedBootstrap) {
  test(`a bootstrap token that is ${what} is not accepted`, () => {
    assert.equal(bootstrap(secret).authenticateToken(token, []), undefined)
  })
}

const protocol = (token: string) => `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`
const webSocket = webSocketTokenAuthenticator(forServerOnly(server, tokenFile), server)

test('a browser may carry its token as a sub-protocol, beside at least one real one', () => {
  const headers = { upgrade: 'websocket', 'sec-websocket-protocol': `${protocol('abc')}, v4.channel.k8s.io` }
  assert.equal((webSocket.authenticate(request(headers)) as Awaited<AuthOutcome>)?.user.name, 'jane')
  assert.deepEqual(webSocketProtocolsWithoutToken(request(headers)), ['v4.channel.k8s.io'])
})

const refusedProtocols: [string, string, RegExp][] = [
  ['alone', protocol('abc'), /missing additional subprotocol/],
  ['twice', `${protocol('abc')},${protocol('abc')},x`, /multiple base64.bearer.authorization tokens specified/],
  ['with padding', `${protocol('a')}==,x`, /invalid base64.bearer.authorization token encoding/],
  ['with a wrong token', `${protocol('nope')},x`, /invalid bearer token/],
]
for (const [what, value, message] of refusedProtocols) {
  test(`a sub-protocol token ${what} is refused`, () => {
    assert.throws(() => webSocket.authenticate(request({ upgrade: 'WebSocket', 'sec-websocket-protocol': value })), message)
  })
}

test('only a WebSocket may do that', () => {
  assert.equal(webSocket.authenticate(request({ 'sec-websocket-protocol': `${protocol('abc')},x` })), undefined)
})

const nobody = { user: { name: 'system:anonymous', groups: ['system:unauthenticated'], extra: {} } }

test('who shows nothing is nobody; who shows something wrong is refused', () => {
  const all = otherwise(withAuthenticatedGroup(unionAuthenticator([basic, bearer])), anonymousAuthenticator())
  assert.deepEqual(all.authenticate(request({})), nobody)
  assert.throws(() => all.authenticate(request({ authorization: 'Bearer nope' })), /invalid bearer token/)
  assert.deepEqual((all.authenticate(request({ authorization: 'Bearer abc' })) as Awaited<AuthOutcome>)?.user.groups, [
    'devs',
    'ops',
    'system:authenticated',
  ])
})

test('nobody may be limited to some paths', () => {
  const limited = anonymousAuthenticator({ paths: ['/healthz', '/livez'] })
  assert.deepEqual(limited.authenticate(request({}, { path: '/livez' })), nobody)
  assert.equal(limited.authenticate(request({}, { path: '/livez/etcd' })), undefined)
  assert.equal(limited.authenticate(request({}, { path: '/api/v1/secrets' })), undefined)
})

test('system:authenticated is added once, and to nobody who says otherwise', () => {
  const groupsOf = (groups: string[], name = 'x') =>
    (
      withAuthenticatedGroup({ authenticate: () => ({ user: { name, groups, extra: {} } }) }).authenticate(
        request({}),
      ) as Awaited<AuthOutcome>
    )?.user.groups
  assert.deepEqual(groupsOf(['a']), ['a', 'system:authenticated'])
  assert.deepEqual(groupsOf(['system:authenticated', 'a']), ['system:authenticated', 'a'])
  assert.deepEqual(groupsOf(['system:unauthenticated']), ['system:unauthenticated'])
  assert.deepEqual(groupsOf([], 'system:anonymous'), [])
})

test('in a union the first who knows the token decides, and refusals count only when nobody does', async () => {
  const known = singleTokenAuthenticator('t', { name: 'jane', groups: [], extra: {} })
  const refusing: TokenAuthenticator = {
    authenticateToken() {
      throw new Unauthenticated('no')
    },
  }
  const slow = (inner: TokenAuthenticator): TokenAuthenticator => ({
    authenticateToken: async (token, audiences) => inner.authenticateToken(token, audiences),
  })
  const nameOf = (outcome: AuthOutcome) => outcome?.user.name
  assert.equal(nameOf((await unionTokenAuthenticator([refusing, known]).authenticateToken('t', [])) as AuthOutcome), 'jane')
  assert.equal(nameOf((await unionTokenAuthenticator([slow(refusing), known]).authenticateToken('t', [])) as AuthOutcome), 'jane')
  assert.equal(nameOf((await unionTokenAuthenticator([slow(known), refusing]).authenticateToken('t', [])) as AuthOutcome), 'jane')
  assert.throws(() => unionTokenAuthenticator([refusing, known]).authenticateToken('x', []), /^Unauthenticated: no$/)
  await assert.rejects(
    async () => unionTokenAuthenticator([slow(known), refusing, slow(refusing)]).authenticateToken('x', []),
    /^Unauthenticated: no$/,
  )
  assert.ok(!(unionTokenAuthenticator([known]).authenticateToken('t', []) instanceof Promise), 'no promise where nobody waits')
})

test('a token review tells whose token it is, for which audiences, or why not', async () => {
  const all = otherwise(withAuthenticatedGroup(bearer), anonymousAuthenticator())
  assert.deepEqual(await reviewToken({ token: 'abc' }, all, server), {
    authenticated: true,
    user: { username: 'jane', uid: '1', groups: ['devs', 'ops', 'system:authenticated'] },
    audiences: server,
  })
  assert.deepEqual(await reviewToken({ token: 'nope' }, all, server), { user: {}, error: 'invalid bearer token' })
  assert.deepEqual(await reviewToken({ token: 'abc', audiences: ['other'] }, all, server), { user: {}, error: 'invalid bearer token' })
})

test('a user is written without what is empty', () => {
  assert.deepEqual(userInfo({ name: 'a', uid: '', groups: [], extra: {} }), { username: 'a' })
  assert.deepEqual(userInfo({ name: 'a', uid: 'u', groups: ['g'], extra: { k: ['v'] } }), {
    username: 'a',
    uid: 'u',
    groups: ['g'],
    extra: { k: ['v'] },
  })
})
