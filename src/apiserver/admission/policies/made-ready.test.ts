import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MadeReady } from '#apiserver/admission/policies/made-ready.ts'

/** Each step takes six milliseconds, and a turn ends where somebody is let in. */
function setUp() {
  let heldMs = 0
  const waiting: (() => void)[] = []
  const state = { made: 0 }
  const clock = {
    heldMs: () => heldMs,
    soon(callback: () => void) {
      waiting.push(callback)
      return { cancel() {} }
    },
  }
  function* making(count: number) {
    for (let index = 0; index < count; index++) {
      heldMs += 6
      yield
    }
    state.made++
    if (count === 3) throw new Error('cannot be made')
    return `made in ${count} steps`
  }
  const nextTurn = async () => {
    heldMs = 0
    waiting.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { clock, making, nextTurn, state }
}

test('what is made quickly is there at once, and made once', () => {
  const { clock, making, state } = setUp()
  const ready = new MadeReady<object, string>()
  const key = {}
  assert.equal(
    ready.of(key, () => making(1), clock),
    'made in 1 steps',
  )
  assert.equal(
    ready.of(key, () => making(1), clock),
    'made in 1 steps',
  )
  assert.equal(state.made, 1)
})

test('what takes long is made in several turns, once for all who ask', async () => {
  const { clock, making, nextTurn, state } = setUp()
  const ready = new MadeReady<object, string>()
  const key = {}
  const asked = [ready.of(key, () => making(4), clock), ready.of(key, () => making(4), clock)]
  assert.equal(state.made, 0)
  await nextTurn()
  assert.equal(state.made, 0)
  await nextTurn()
  assert.deepEqual(await Promise.all(asked), ['made in 4 steps', 'made in 4 steps'])
  assert.equal(state.made, 1)
  assert.equal(
    ready.of(key, () => making(4), clock),
    'made in 4 steps',
  )
})

test('what could not be made is tried again', async () => {
  const { clock, making, nextTurn, state } = setUp()
  const ready = new MadeReady<object, string>()
  const key = {}
  const failed = assert.rejects(async () => ready.of(key, () => making(3), clock), /cannot be made/)
  await nextTurn()
  await failed
  assert.equal(state.made, 1)
  await nextTurn()
  assert.equal(
    ready.of(key, () => making(1), clock),
    'made in 1 steps',
  )
})
