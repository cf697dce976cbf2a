import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { endedOrQuiet } from '#base/ended-or-quiet.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

function listened(): { source: PassThrough; text: () => string } {
  const source = new PassThrough()
  let text = ''
  source.on('data', (piece: Buffer) => {
    text += piece
  })
  return { source, text: () => text }
}

test('what has ended is not waited for', async () => {
  const { source } = listened()
  source.end('last words')
  await endedOrQuiet([source], { clock: systemClock, quietMs: 60_000 })
  await endedOrQuiet([], { clock: systemClock, quietMs: 60_000 })
})

test('a source that is held open is left after some silence, which begins anew with what comes', async () => {
  const clock = new VirtualClock()
  const { source } = listened()
  let isOver = false
  const waiting = endedOrQuiet([source], { clock, quietMs: 1000 }).then(() => {
    isOver = true
  })
  await clock.advance({ ms: 800 })
  source.write('still there')
  await clock.advance({ ms: 800 })
  assert.equal(isOver, false)
  await clock.advance({ ms: 400 })
  await waiting
})

test('a source that is paused is not silent', async () => {
  const clock = new VirtualClock()
  const { source } = listened()
  source.pause()
  let isOver = false
  const waiting = endedOrQuiet([source], { clock, quietMs: 1000 }).then(() => {
    isOver = true
  })
  await clock.advance({ seconds: 5 })
  assert.equal(isOver, false)
  source.resume()
  await clock.advance({ seconds: 2 })
  await waiting
})

test('what waits to be read is read, even where the process stood still for longer than its patience', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'quiet '))
  const said = join(directory, 'said')
  const child = spawn('sh', ['-c', 'echo words; : > "$0"; exec sleep 60 >&- 2>&-', said], { stdio: ['ignore', 'pipe', 'ignore'] })
  let text = ''
  child.stdout.on('data', (piece: Buffer) => {
    text += piece
  })
  const waiting = endedOrQuiet([child.stdout], { clock: systemClock, quietMs: 100 })
  // Nothing is read meanwhile, and every timer is late.
  const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  while (!existsSync(said)) standStill(10)
  standStill(300)
  await waiting
  child.kill('SIGKILL')
  rmSync(directory, { recursive: true })
  assert.equal(text, 'words\n')
})
