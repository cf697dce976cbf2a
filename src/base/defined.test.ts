import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from './defined.ts'

test('fields without a value are left out; null, zero and the empty text are values', () => {
  const uid: string | undefined = undefined
  assert.deepEqual(Object.keys({ name: 'a', ...defined({ uid, count: 0, text: '', none: null }) }), ['name', 'count', 'text', 'none'])
})
