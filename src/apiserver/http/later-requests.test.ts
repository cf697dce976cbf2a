import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LaterRequests } from '#apiserver/http/later-requests.ts'
import type { Clock } from '#base/clock.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

/** Where time is virtual, nobody waits for the next turn. */
function busyWith(count: number, clock: Pick<Clock, 'soon' | 'heldMs'> = new VirtualClock()): LaterRequests {
  const later = new LaterRequests(clock)
  for (let number = 0; number < count; number++) later.entered()
  return later
}

test('what can wait begins at once where little else is under way', () => {
  const later = busyWith(7)
  let began = 0
  later.begin(() => began++)
  assert.equal(began, 1)
})

test('what can wait begins when most others have ended, in its order, and those that are given up keep nobody', () => {
  const later = busyWith(10)
  const began: string[] = []
  for (const name of ['given up', 'a', 'b']) later.begin(() => began.push(name))
  later.left()
  later.left()
  assert.deepEqual(began, [])
  later.left()
  assert.deepEqual(began, ['given up', 'a', 'b'])
})

test('what can wait has its turn though others have no end', () => {
  const later = busyWith(100)
  let began = 0
  later.begin(() => began++)
  later.begin(() => began++)
  for (let ended = 0; ended < 15; ended++) {
    later.left()
    later.entered()
  }
  assert.equal(began, 0)
  later.left()
  assert.equal(began, 1)
})

test('where many end together, what each leads to goes first', () => {
  const turns: (() => void)[] = []
  const later = busyWith(10, { heldMs: () => 1, soon: (callback) => void turns.push(callback) })
  let began = 0
  later.begin(() => began++)
  for (let ended = 0; ended < 10; ended++) later.left()
  assert.deepEqual([began, turns.length], [0, 1], 'not before the next turn')
  for (let next = 0; next < 10; next++) later.entered()
  turns.shift()?.()
  assert.equal(began, 0, 'the others have gone on')
  for (let ended = 0; ended < 10; ended++) later.left()
  turns.shift()?.()
  assert.equal(began, 1)
})
