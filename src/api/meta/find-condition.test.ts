import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findCondition, isConditionTrue, isSameCondition, transitionTime, withCondition } from './find-condition.ts'

const ready = { type: 'Ready', status: 'True', reason: 'Up', lastTransitionTime: '2026-01-01T00:00:00Z' }
const other = { type: 'Other', status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' }
const now = '2026-01-02T00:00:00Z'

test('a condition is found by its type, where there are any', () => {
  assert.equal(findCondition([other, ready], 'Ready'), ready)
  for (const none of [[], null, undefined]) assert.equal(findCondition<{ type: string }>(none, 'Ready'), undefined)
  assert.equal(isConditionTrue([other, ready], 'Ready'), true)
  assert.equal(isConditionTrue([other, ready], 'Other'), false)
})

test('the time of the last transition changes with the status alone', () => {
  assert.equal(transitionTime(ready, 'True', now), ready.lastTransitionTime)
  assert.equal(transitionTime(ready, 'False', now), now)
  assert.equal(transitionTime(undefined, 'False', now), now)
  assert.equal(transitionTime({ status: 'True', lastTransitionTime: null }, 'True', now), now)
})

test('a verdict is its status, reason and message', () => {
  assert.equal(isSameCondition(ready, { status: 'True', reason: 'Up' }), true)
  assert.equal(isSameCondition(ready, { status: 'True', reason: 'Up', message: 'again' }), false)
  assert.equal(isSameCondition(undefined, { status: 'True' }), false)
})

test('a condition takes the place of the one of its type, or the last', () => {
  const next = { ...ready, status: 'False' }
  assert.deepEqual(withCondition([ready, other], next), [next, other])
  assert.deepEqual(withCondition([other], next), [other, next])
  assert.deepEqual(withCondition(undefined, next), [next])
})
