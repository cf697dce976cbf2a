import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from './clock.ts'
import { oneEachTurn } from './one-each-turn.ts'
import { VirtualClock } from './virtual-clock.ts'

function handTurned() {
  let callbacks: (() => void)[] = []
  const turn = async () => {
    const due = callbacks
    callbacks = []
    for (const callback of due) callback()
    await Promise.resolve()
    await Promise.resolve()
  }
  return { clock: { heldMs: () => 1, soon: (callback: () => void) => void callbacks.push(callback) }, turn }
}

test('each has a turn of its own, in order', async () => {
  const { clock, turn } = handTurned()
  const enter = oneEachTurn(clock)
  const entered: number[] = []
  for (const number of [1, 2, 3]) void enter().then(() => entered.push(number))
  await Promise.resolve()
  assert.deepEqual(entered, [])
  await turn()
  assert.deepEqual(entered, [1])
  await turn()
  assert.deepEqual(entered, [1, 2])
  await turn()
  assert.deepEqual(entered, [1, 2, 3])
})

test('who comes when all are through waits for the next turn alone', async () => {
  const { clock, turn } = handTurned()
  const enter = oneEachTurn(clock)
  const first = enter()
  await turn()
  await first
  let hasEntered = false
  void enter().then(() => {
    hasEntered = true
  })
  await turn()
  assert.ok(hasEntered)
})

test('in virtual time nobody waits', async () => {
  const enter = oneEachTurn(new VirtualClock())
  await enter()
  await enter()
})

test('the clock of the machine is never taken for a virtual one', async () => {
  const turned = Promise.withResolvers<void>()
  setImmediate(() => turned.resolve())
  await turned.promise
  assert.ok(systemClock.heldMs() > 0, 'asked for the first time in its turn')
})
