import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonCopy } from '#api/meta/json-copy.ts'

const limit = 1000

test('a copy is what would come back from JSON', () => {
  const value = {
    ...{ text: 'a', none: undefined, zero: 0, nothing: null, list: [1, 'b', { c: true, d: undefined }], empty: {}, fraction: 1.5 },
    ...{ '': 'no name', nested: { deep: { deeper: [[], [null]] } } },
  }
  const copy = jsonCopy(value, limit)
  assert.equal(JSON.stringify(copy), JSON.stringify(value))
  assert.deepEqual(copy, JSON.parse(JSON.stringify(value)))
  assert.ok(!('none' in (copy as object)))
})

test('a copy shares nothing, though what is copied is frozen', () => {
  const value = Object.freeze({ list: Object.freeze([Object.freeze({ a: 1 })]) })
  const copy = jsonCopy(value, limit) as typeof value
  assert.ok(!Object.isFrozen(copy) && !Object.isFrozen(copy.list) && !Object.isFrozen(copy.list[0]))
})

test('a key that objects have by themselves is copied as any other', () => {
  const value = JSON.parse('{"__proto__":{"a":1}}') as object
  assert.equal(JSON.stringify(jsonCopy(value, limit)), '{"__proto__":{"a":1}}')
})

for (const [what, value] of Object.entries<object>({
  'a number that JSON cannot say': { a: Number.NaN },
  'half a surrogate pair': { a: 'duck \ud83e' },
  'a date': { a: new Date(0) },
  'an integer too large for a number': { a: 1n },
  'a hole in a list': { a: [undefined] },
  'more than the limit': { a: ['x'.repeat(600), 'y'.repeat(600)] },
})) {
  test(`${what} is left to JSON`, () => assert.equal(jsonCopy(value, limit), undefined))
}
