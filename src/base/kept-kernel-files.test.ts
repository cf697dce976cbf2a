import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { KeptKernelFiles } from '#base/kept-kernel-files.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const directory = mkdtempSync(join(tmpdir(), 'tn-kept-'))
after(() => rmSync(directory, { recursive: true }))
const write = (name: string, text: string) => {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}

test('a file that is read again shows what is in it now', () => {
  using files = new KeptKernelFiles({ clock: new VirtualClock(), mostOpen: 10 })
  const file = files.file(write('number', '12\n'))
  assert.equal(file.number(), 12)
  write('number', '9007199254740991\n')
  assert.equal(file.number(), 9_007_199_254_740_991)
  write('number', 'max\n')
  assert.deepEqual([file.number(), file.text()], [undefined, 'max\n'])
  assert.equal(files.openCount, 1)
})

test('what holds more than one whole number, or nothing, has no number', () => {
  using files = new KeptKernelFiles({ clock: new VirtualClock(), mostOpen: 10 })
  for (const text of ['1 2\n', '-1\n', '1.5\n', 'user 3\n', '']) assert.equal(files.file(write('other', text)).number(), undefined, text)
  assert.equal(files.file(join(directory, 'missing')).number(), undefined)
})

test('files longer than usual are read whole', () => {
  using files = new KeptKernelFiles({ clock: new VirtualClock(), mostOpen: 10 })
  const text = 'line\n'.repeat(50_000)
  assert.equal(files.file(write('long', text)).text(), text)
})

test('files that nobody reads any more are closed, and opened again for the next reader', async () => {
  const clock = new VirtualClock()
  using files = new KeptKernelFiles({ clock, mostOpen: 10 })
  const [often, once] = [files.file(write('often', '1\n')), files.file(write('once', '2\n'))]
  once.number()
  for (let round = 0; round < 3; round++) {
    often.number()
    await clock.advance(60_000)
  }
  assert.equal(files.openCount, 1)
  assert.equal(once.number(), 2)
  assert.equal(files.openCount, 2)
  await clock.advance(180_000)
  assert.equal(files.openCount, 0)
})

test('no more stay open than may, and all can be read', () => {
  using files = new KeptKernelFiles({ clock: new VirtualClock(), mostOpen: 2 })
  const all = [1, 2, 3, 4].map((number) => files.file(write(`limited-${number}`, String(number))))
  for (let round = 0; round < 2; round++)
    assert.deepEqual(
      all.map((file) => file.number()),
      [1, 2, 3, 4],
    )
  assert.equal(files.openCount, 2)
})

test('what a file tells of is gone: nothing is read, and nothing stays open', { skip: process.platform !== 'linux' }, async () => {
  using files = new KeptKernelFiles({ clock: new VirtualClock(), mostOpen: 10 })
  const child = spawn('sleep', ['600'], { stdio: 'ignore' })
  const file = files.file(`/proc/${child.pid}/stat`)
  assert.match(file.text() ?? '', /^\d+ \(/)
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
  assert.equal(file.text(), undefined)
  assert.equal(files.openCount, 0)
})
