import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backoffMs } from './backoff.ts'

test('each failure doubles the wait, up to the longest', () => {
  const limits = { firstMs: 100, longestMs: 1000 }
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5000].map((failures) => backoffMs(failures, limits)),
    [100, 200, 400, 800, 1000, 1000],
  )
})
