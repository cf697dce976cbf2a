import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeLeftMs } from '#apiserver/admission/webhooks/time-left.ts'

const at = (nowMs: number) => ({ monotonic: () => nowMs })

test('what is left of a request is what is left until its end', () => {
  assert.equal(timeLeftMs(5000, at(1000)), 4000)
  assert.equal(timeLeftMs(Number.POSITIVE_INFINITY, at(1000)), Number.POSITIVE_INFINITY)
})

test('a request is over at its end, and where a timer for it goes off a moment early', () => {
  for (const nowMs of [999.2, 1000, 1001])
    assert.throws(() => timeLeftMs(1000, at(nowMs)), { message: 'Timeout: request did not complete within requested timeout' })
})
