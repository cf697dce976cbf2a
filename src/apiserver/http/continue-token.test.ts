import assert from 'node:assert/strict'
import { test } from 'node:test'
import { continueToken, parseContinueToken } from '#apiserver/http/continue-token.ts'

test('a token gives back what it was made of', () => {
  const continuation = { revision: 12, startKey: 'default/a\u0000' }
  assert.deepEqual(parseContinueToken(continueToken(continuation)), continuation)
})

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

for (const [name, token] of [
  ['no base64', 'a b'],
  ['no JSON', 'bad'],
  ['nothing', encoded(null)],
  ['another version', encoded({ v: 'v2', rv: 1, start: 'a' })],
  ['revision 0', encoded({ v: 'meta.k8s.io/v1', rv: 0, start: 'a' })],
  ['no start', encoded({ v: 'meta.k8s.io/v1', rv: 1 })],
  ['a start that climbs out', encoded({ v: 'meta.k8s.io/v1', rv: 1, start: '../secrets/a' })],
  ['a start that climbs out further in', encoded({ v: 'meta.k8s.io/v1', rv: 1, start: 'a/../../secrets' })],
] as const) {
  test(`a token with ${name} is refused`, () => {
    assert.throws(() => parseContinueToken(token), /invalid continue token: continue key is not valid: /)
  })
}
