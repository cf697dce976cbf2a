import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asLines } from '#base/as-lines.ts'

test('each command is a line, and none is two', () => {
  assert.equal(asLines([]), '')
  assert.equal(asLines(['link set a up', '', 'link set b up']), 'link set a up\n\nlink set b up\n')
  for (const wrong of ['a\nflush ruleset', 'a\n', 'a\rb', 'a\0b']) assert.throws(() => asLines(['good', wrong]), /is not one line/)
})
