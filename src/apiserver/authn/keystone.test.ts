import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keystoneAuthentication } from '#apiserver/authn/keystone.ts'
import type { HttpClient, HttpClientRequest } from '#base/http-client.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const alice = {
  token: {
    user: { id: 'u1', name: 'alice', domain: { id: 'default', name: 'Default' } },
    project: { id: 'p1', name: 'demo' },
    roles: [{ id: 'r1', name: 'member' }],
  },
}

/** Knows alice with her password, and a token of hers. */
function keystoneServer(answers: (request: HttpClientRequest) => { status: number; body: object }) {
  const asked: HttpClientRequest[] = []
  const http: HttpClient = {
    async request(request) {
      asked.push(request)
      const { status, body } = answers(request)
      return { status, headers: {}, body: (async function* () {})(), text: async () => JSON.stringify(body) }
    },
    [Symbol.dispose]() {},
  }
  return { http, asked }
}

const authenticate = (url: string, http: HttpClient, clock = new VirtualClock()) =>
  keystoneAuthentication({ url, http, clock, random: seededRandom(1) })

const basic = (pair: string) => ({
  headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
  rawHeaders: [],
  path: '/',
  remoteAddress: '',
})

test('a password is checked by Keystone, once in a while', async () => {
  const { http, asked } = keystoneServer(({ body }) => {
    const { name, password } = JSON.parse(String(body)).auth.identity.password.user
    return name === 'alice' && password === 'a:b' ? { status: 201, body: alice } : { status: 401, body: {} }
  })
  const clock = new VirtualClock()
  const { passwords } = authenticate('http://keystone:5000', http, clock)
  const result = await passwords.authenticate(basic('alice:a:b'))
  assert.deepEqual(result?.user, {
    name: 'alice',
    uid: 'u1',
    groups: ['p1'],
    extra: {
      'alpha.kubernetes.io/identity/project/id': ['p1'],
      'alpha.kubernetes.io/identity/project/name': ['demo'],
      'alpha.kubernetes.io/identity/user/domain/id': ['default'],
      'alpha.kubernetes.io/identity/user/domain/name': ['Default'],
      'alpha.kubernetes.io/identity/roles': ['member'],
    },
  })
  await passwords.authenticate(basic('alice:a:b'))
  assert.equal(asked.length, 1)
  assert.equal(asked[0]?.url, 'http://keystone:5000/v3/auth/tokens')
  await clock.advance(121_000)
  await passwords.authenticate(basic('alice:a:b'))
  assert.equal(asked.length, 2)
  await assert.rejects(async () => passwords.authenticate(basic('alice:wrong')), { name: 'Unauthenticated' })
  assert.equal(await passwords.authenticate({ ...basic(''), headers: {} }), undefined)
})

test('a token is checked by Keystone; one that it does not know is left to others', async () => {
  const { http } = keystoneServer(({ headers }) =>
    headers?.['x-subject-token'] === 'good' ? { status: 200, body: alice } : { status: 404, body: {} },
  )
  const { tokens } = authenticate('http://keystone:5000/v3/', http)
  assert.equal((await tokens.authenticateToken('good', []))?.user.name, 'alice')
  assert.equal(await tokens.authenticateToken('bad', []), undefined)
  assert.equal(await tokens.authenticateToken('no\nheader', []), undefined)
})

test('version 2.0 checks passwords', async () => {
  const { http, asked } = keystoneServer(() => ({ status: 200, body: { access: { user: { id: 'u1' } } } }))
  const { passwords, tokens } = authenticate('http://keystone:5000/v2.0', http)
  assert.equal((await passwords.authenticate(basic('alice:secret')))?.user.uid, 'u1')
  assert.equal(asked[0]?.url, 'http://keystone:5000/v2.0/tokens')
  assert.equal(await tokens.authenticateToken('good', []), undefined)
})

test('a Keystone in trouble is an error, and nobody is taken for a stranger', async () => {
  const { http } = keystoneServer(() => ({ status: 503, body: {} }))
  const { tokens } = authenticate('http://keystone:5000', http)
  await assert.rejects(async () => tokens.authenticateToken('good', []), /answered 503/)
})

test('a Keystone that does not answer is not waited for without end', async () => {
  const http: HttpClient = {
    request: ({ signal }) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    [Symbol.dispose]() {},
  }
  const clock = new VirtualClock()
  const { tokens } = authenticate('http://keystone:5000', http, clock)
  const asking = assert.rejects(async () => tokens.authenticateToken('t', []), /has not answered for 30000 ms/)
  await clock.advance({ seconds: 30 })
  await asking
})
