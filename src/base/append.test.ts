import assert from 'node:assert/strict'
import { test } from 'node:test'
import { append, largest, smallest } from '#base/append.ts'

const many = Array.from({ length: 300_000 }, (_, index) => index)

test('lists of any length are appended, and searched for their extremes', () => {
  const list = [-1]
  append(list, many)
  assert.equal(list.length, many.length + 1)
  assert.equal(list.at(-1), many.length - 1)
  assert.equal(largest(0, list), many.length - 1)
  assert.equal(smallest(0, list), -1)
})

test('of nothing, the bound is the extreme', () => {
  assert.equal(largest(3, []), 3)
  assert.equal(smallest(3, []), 3)
})
