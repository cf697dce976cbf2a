import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BackOff, nextBackOff } from '#kubelet/pod-worker/back-off.ts'

function delays(longestMs?: number): number[] {
  let backOff: BackOff | undefined
  return Array.from({ length: 7 }, (_, index) => {
    backOff = nextBackOff(backOff, index * 1000, index * 1000, longestMs)
    return backOff.delayMs / 1000
  })
}

test('what fails waits twice as long each time, for five minutes at most, or as long as the node was told', () => {
  assert.deepEqual(delays(), [10, 20, 40, 80, 160, 300, 300])
  assert.deepEqual(delays(60_000), [10, 20, 40, 60, 60, 60, 60])
  assert.deepEqual(delays(2000), [2, 2, 2, 2, 2, 2, 2])
})
