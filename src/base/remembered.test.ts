import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remembered } from '#base/remembered.ts'

test('what was made of a text is made once, until there are too many texts', () => {
  const made: string[] = []
  const upper = remembered((text) => {
    made.push(text)
    return text.toUpperCase()
  }, 2)
  assert.deepEqual(['a', 'b', 'a', 'b', 'a'].map(upper), ['A', 'B', 'A', 'B', 'A'])
  assert.deepEqual(made, ['a', 'b'])
  assert.equal(upper('c'), 'C')
  assert.equal(upper('a'), 'A')
  assert.deepEqual(made, ['a', 'b', 'c', 'a'])
})
