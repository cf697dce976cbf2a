import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDurationMs } from '#base/duration.ts'
import { type BackOff, nextBackOff } from '#kubelet/pod-worker/back-off.ts'
import { waitsUntilMs } from '#kubelet/pod-worker/restarts.ts'

test('[PW4] waits double from ten seconds to five minutes', () => {
  const waits: string[] = []
  let backOff: BackOff | undefined
  let nowMs = 0
  for (let restart = 0; restart < 8; restart++) {
    nowMs = waitsUntilMs(backOff, nowMs, nowMs) ?? nowMs
    backOff = nextBackOff(backOff, nowMs, nowMs)
    waits.push(formatDurationMs(backOff.delayMs))
  }
  assert.deepEqual(waits, ['10s', '20s', '40s', '1m20s', '2m40s', '5m0s', '5m0s', '5m0s'])
})

test('[PW4] a container that has run for more than ten minutes begins anew', () => {
  const backOff = { delayMs: 160_000, sinceMs: 0 }
  assert.equal(waitsUntilMs(backOff, 601_000, 601_000), undefined)
  assert.equal(nextBackOff(backOff, 601_000, 601_000).delayMs, 10_000)
  assert.equal(nextBackOff(backOff, 599_000, 599_000).delayMs, 300_000)
})

test('[PW4] the first restart does not wait', () => {
  assert.equal(waitsUntilMs(undefined, 0, 0), undefined)
})
