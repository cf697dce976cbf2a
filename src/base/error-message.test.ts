import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorMessage } from './error-message.ts'

test('whatever was thrown has a message', () => {
  assert.equal(errorMessage(new TypeError('no such field')), 'no such field')
  assert.equal(errorMessage('a text'), 'a text')
  assert.equal(errorMessage(undefined), 'undefined')
})
