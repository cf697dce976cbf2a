import assert from 'node:assert/strict'
import test from 'node:test'
import { keysIn } from './keys.ts'

test('keys, escapes and the mouse are told apart', () => {
  const keys = (text: string) => keysIn(Buffer.from(text))
  assert.deepEqual(keys('a\u001b[A\r'), [
    { kind: 'char', char: 'a' },
    { kind: 'key', name: 'up' },
    { kind: 'key', name: 'enter' },
  ])
  assert.deepEqual(keys('\u001b'), [{ kind: 'key', name: 'escape' }])
  assert.deepEqual(keys('\u0004\u007f'), [
    { kind: 'control', char: 'd' },
    { kind: 'key', name: 'backspace' },
  ])
  assert.deepEqual(keys('\u001b[<0;12;7M\u001b[<0;12;7m'), [{ kind: 'click', column: 12, row: 7 }])
  assert.deepEqual(keys('\u001b[<65;1;1M'), [{ kind: 'wheel-down', column: 1, row: 1 }])
  assert.deepEqual(keys('\u001b[99~ü'), [{ kind: 'char', char: 'ü' }])
})
