import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { createsAtOnce, podsToMake } from '#controllers/workload/pods-at-once.ts'
import { inSlowStartBatches } from '#controllers/workload/slow-start.ts'

const pods = (count: number, nodeName?: string): V1Pod[] =>
  Array.from({ length: count }, () => ({ metadata: {}, spec: { containers: [], ...(nodeName && { nodeName }) } }))

test('a burst is made at a time, and none while thousands wait for a node', () => {
  assert.equal(podsToMake(3, []), 3)
  assert.equal(podsToMake(-3, []), 0)
  assert.equal(podsToMake(2 ** 31, pods(4999)), 500)
  assert.equal(podsToMake(2 ** 31, pods(5000)), 0)
  assert.equal(podsToMake(2 ** 31, [...pods(9000, 'here'), ...pods(4999)]), 500)
})

test('of large templates few pods are on their way at the same time', () => {
  const template = (env: number) => ({
    spec: {
      containers: [{ name: 'main', env: Array.from({ length: env }, (_, index) => ({ name: `E${index}`, value: 'v'.repeat(20) })) }],
    },
  })
  assert.equal(createsAtOnce(template(100)), 256)
  const some = createsAtOnce(template(10_000))
  assert.ok(some > 4 && some < 40, String(some))
  assert.equal(createsAtOnce(template(1_000_000)), 4)
})

test('batches grow up to so many at once, let others in, and end with the first failure', async () => {
  let underWay = 0
  let most = 0
  let turns = 0
  const work = async (index: number) => {
    most = Math.max(most, ++underWay)
    await undefined
    await undefined
    underWay--
    if (index === 40) throw new Error('no more')
  }
  const soon = (callback: () => void) => {
    turns++
    setImmediate(callback)
  }
  const clock = { heldMs: () => 9, soon }
  assert.deepEqual(await inSlowStartBatches(30, { clock, atOnce: 8 }, work), { done: 30 })
  assert.equal(turns, 30)
  const idle = { ...clock, heldMs: () => 0 }
  const { done, error } = await inSlowStartBatches(100, { clock: idle, atOnce: 8 }, work)
  assert.equal(done, 46)
  assert.equal((error as Error).message, 'no more')
  assert.equal(most, 8)
})
