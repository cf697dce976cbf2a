import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonText } from '#api/codec/json-text.ts'

test('what HTML could read is escaped as Go does it, and means the same', () => {
  const value = { 'a<b': ['x && y', '>\u2028', 'plain'] }
  const text = jsonText(value)
  assert.equal(text, '{"a\\u003cb":["x \\u0026\\u0026 y","\\u003e\\u2028","plain"]}')
  assert.deepEqual(JSON.parse(text), value)
  assert.equal(jsonText({ large: 2n ** 60n, text: '<' }), '{"large":1152921504606846976,"text":"\\u003c"}')
})
