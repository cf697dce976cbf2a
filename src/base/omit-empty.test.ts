import assert from 'node:assert/strict'
import { test } from 'node:test'
import { omitEmpty } from './omit-empty.ts'

test('fields that say nothing are left out', () => {
  const nothing = { undefined, null: null, text: '', zero: 0, no: false, list: [], map: {} }
  assert.deepEqual(omitEmpty(nothing), {})
})

test('fields that say something stay, whatever is in them', () => {
  const something = { text: 'a', one: 1, yes: true, list: [''], map: { key: undefined } }
  assert.deepEqual(omitEmpty(something), something)
})
