import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptAnswer } from '#base/kept-answer.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

test('an answer is asked for again when it is too old, and shared until then', async () => {
  const clock = new VirtualClock()
  let asked = 0
  const answer = keptAnswer(clock, 1000, async () => ++asked)
  assert.deepEqual(await Promise.all([answer(), answer()]), [1, 1])
  await clock.advance({ ms: 999 })
  assert.equal(await answer(), 1)
  await clock.advance({ ms: 1 })
  assert.equal(await answer(), 2)
})

test('a failure is told to all who wait for it, and is not kept', async () => {
  let asked = 0
  const answer = keptAnswer(new VirtualClock(), 1000, async () => {
    if (++asked === 1) throw new Error('not yet')
    return asked
  })
  const both = await Promise.allSettled([answer(), answer()])
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await answer(), 2)
})
