import assert from 'node:assert/strict'
import { test } from 'node:test'
import { oneEachTurn } from './one-each-turn.ts'

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

test('the first goes at once, the others one a turn and in order', async () => {
  const { clock, turn } = handTurned()
  const enter = oneEachTurn(clock)
  const entered: number[] = []
  for (const number of [1, 2, 3]) void enter().then(() => entered.push(number))
  await Promise.resolve()
  assert.deepEqual(entered, [1])
  await turn()
  assert.deepEqual(entered, [1, 2])
  await turn()
  assert.deepEqual(entered, [1, 2, 3])
})

test('who comes when all are through does not wait', async () => {
  const { clock, turn } = handTurned()
  const enter = oneEachTurn(clock)
  await enter()
  await turn()
  let hasEntered = false
  void enter().then(() => {
    hasEntered = true
  })
  await Promise.resolve()
  assert.ok(hasEntered)
})
