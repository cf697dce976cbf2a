import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detachKeyBytes, untilDetached } from '#cli/streams/detach-keys.ts'

async function typed(pieces: readonly string[], keys = 'ctrl-p,ctrl-q'): Promise<{ sent: string; isDetached: boolean }> {
  let isDetached = false
  let sent = ''
  const input = (async function* () {
    for (const piece of pieces) yield Buffer.from(piece)
  })()
  for await (const piece of untilDetached(input, detachKeyBytes(keys), () => {
    isDetached = true
  }))
    sent += Buffer.from(piece).toString()
  return { sent, isDetached }
}

test('the keys end the session and are not sent', async () => {
  assert.deepEqual(await typed(['ls\n\x10\x11more']), { sent: 'ls\n', isDetached: true })
  assert.deepEqual(await typed(['ls', '\x10', '\x11']), { sent: 'ls', isDetached: true })
  assert.deepEqual(await typed(['axyz'], 'x,y'), { sent: 'a', isDetached: true })
})

test('what only begins like the keys is sent after all', async () => {
  assert.deepEqual(await typed(['\x10', 'x']), { sent: '\x10x', isDetached: false })
  assert.deepEqual(await typed(['\x10\x10\x11']), { sent: '\x10', isDetached: true })
})

test('keys are named as Docker names them', () => {
  assert.deepEqual([...detachKeyBytes('ctrl-@,ctrl-[,ctrl-_,DEL,a')], [0, 27, 31, 127, 97])
  assert.throws(() => detachKeyBytes('meta-x'), /could not bind detach keys: Unknown character: 'meta-x'/)
})
