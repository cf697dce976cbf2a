import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trimEndOf } from '#base/trim-end.ts'

test('what stands at the end goes, and nothing else', () => {
  for (const [text, characters, expected] of [
    ['', '/', ''],
    ['/', '/', ''],
    ['///', '/', ''],
    ['//a//b//', '/', '//a//b'],
    ['a', '/', 'a'],
    ['a \t\r', ' \t\r', 'a'],
    ['a- .b-.-', '-.', 'a- .b'],
  ] as const) {
    assert.equal(trimEndOf(text, characters), expected, JSON.stringify(text))
  }
})

test('a text of a million of them that goes on afterwards is looked at once', () => {
  const text = `${'/'.repeat(1_000_000)}x`
  assert.equal(trimEndOf(text, '/'), text)
})
