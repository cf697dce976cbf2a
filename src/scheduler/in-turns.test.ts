import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '#base/virtual-clock.ts'
import { inTurns } from '#scheduler/in-turns.ts'

test('no more than so many run at once, all run in order, and failures make room too', async () => {
  const clock = new VirtualClock()
  const turns = inTurns(3)
  const order: number[] = []
  let running = 0
  let most = 0
  const all = Promise.allSettled(
    Array.from({ length: 10 }, (_, index) =>
      turns(async () => {
        order.push(index)
        most = Math.max(most, ++running)
        await clock.sleep(10 + index)
        running--
        if (index % 2 === 0) throw new Error('no')
      }),
    ),
  )
  await clock.advance(1000)
  const outcomes = (await all).map(({ status }) => status)
  assert.equal(most, 3)
  assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  assert.equal(outcomes.filter((status) => status === 'rejected').length, 5)
})
