import assert from 'node:assert/strict'
import { test } from 'node:test'
import { goPattern } from '#api/apiextensions/v1/schema/go-pattern.ts'

test('a pattern is compiled once, finds what Go would, and one that Go refuses is refused each time', () => {
  const pattern = '^(?i)[a-z]+\\z'
  assert.equal(goPattern(pattern), goPattern(pattern))
  assert.deepEqual(
    ['Web', 'web\n', '1'].map((text) => goPattern(pattern).matcher(text).find()),
    [true, false, false],
  )
  for (const _ of ['first', 'second']) assert.throws(() => goPattern('(?=a)'))
})

test('patterns that nobody asked for lately are forgotten', () => {
  const first = goPattern('first')
  for (let index = 0; index < 1000; index++) goPattern(`pattern ${index}`)
  assert.notEqual(goPattern('first'), first)
  assert.ok(goPattern('first').matcher('the first').find())
})
