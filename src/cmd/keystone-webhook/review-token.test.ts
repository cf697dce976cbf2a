import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TokenAuthenticator } from '#apiserver/authn/authenticator.ts'
import { reviewToken } from '#cmd/keystone-webhook/review-token.ts'

const tokens: TokenAuthenticator = {
  async authenticateToken(token) {
    if (token === 'down') throw new Error('keystone at http://k answered 503: busy')
    return token === 'good' ? { user: { name: 'alice', uid: 'u1', groups: ['p1'], extra: { roles: ['member'] } } } : undefined
  },
}
const review = (token: unknown, apiVersion = 'authentication.k8s.io/v1') =>
  reviewToken(JSON.stringify({ apiVersion, kind: 'TokenReview', spec: { token } }), tokens)

test('a TokenReview is answered in its own version with what Keystone knows of the user', async () => {
  for (const apiVersion of ['authentication.k8s.io/v1', 'authentication.k8s.io/v1beta1']) {
    const { status, body } = await review('good', apiVersion)
    assert.equal(status, 200)
    const user = { username: 'alice', uid: 'u1', groups: ['p1'], extra: { roles: ['member'] } }
    assert.deepEqual(body, { apiVersion, kind: 'TokenReview', status: { authenticated: true, user } })
  }
  assert.deepEqual((await review('bad')).body, {
    ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', status: { authenticated: false } },
  })
})

test('trouble with Keystone authenticates nobody, and what is no review is refused', async () => {
  assert.match(JSON.stringify((await review('down')).body), /"authenticated":false,"error":"keystone at/)
  for (const text of [
    '',
    'null',
    '[]',
    '{"kind":"Pod"}',
    JSON.stringify({ kind: 'TokenReview', apiVersion: 'v1', spec: { token: 'good' } }),
  ])
    assert.equal((await reviewToken(text, tokens)).status, 400, text)
  assert.equal((await review(undefined)).status, 400)
})
