import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

test('a program that ends at once after much output has given all of it to a reader who begins late', async () => {
  const terminal = pathToFileURL(join(import.meta.dirname, 'terminal.ts')).href
  const size = 8 << 20
  const program = `import { flushOutput, thisTerminal } from ${JSON.stringify(terminal)}
thisTerminal.complain('written')
thisTerminal.write('x'.repeat(${size}))
await flushOutput()
process.exit(3)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise((resolve) => child.on('exit', resolve))
  // Nothing is read before it has begun to write.
  await new Promise((resolve) => child.stderr.once('data', resolve))
  child.stderr.resume()
  let received = 0
  for await (const piece of child.stdout as AsyncIterable<Buffer>) received += piece.length
  assert.deepEqual([received, await ended], [size, 3])
})
