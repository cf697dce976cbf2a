import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortKey } from '#base/short-key.ts'

test('a short text is its own key, long ones have short keys that differ', () => {
  assert.equal(shortKey('pods'), 'pods')
  const [one, other] = ['x', 'y'].map((end) => shortKey(`${'x'.repeat(1_000_000)}${end}`))
  assert.notEqual(one, other)
  assert.equal(one?.length, 'sha256:'.length + 64)
})
