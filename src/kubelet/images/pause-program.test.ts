import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pauseProgram } from '#kubelet/images/pause-program.ts'

for (const architecture of ['amd64', 'arm64'] as const) {
  test(`the program for ${architecture} is one small segment that can be run, and not written`, () => {
    const program = Buffer.from(pauseProgram(architecture))
    assert.ok(program.length < 512)
    assert.equal(program.subarray(0, 4).toString('latin1'), '\x7fELF')
    assert.equal(program.readUInt16LE(18), architecture === 'amd64' ? 62 : 183)
    assert.equal(program.readUInt32LE(64 + 4), 5)
    assert.equal(program.readUInt32LE(64 + 32), program.length)
    assert.equal(program.length % 8, 0)
  })
}

const native = process.arch === 'x64' ? 'amd64' : 'arm64'

test('it waits, buries children unseen, and ends when asked to', {
  skip: process.platform === 'linux' ? false : 'it is for Linux',
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pause-'))
  try {
    const path = join(directory, 'pause')
    writeFileSync(path, pauseProgram(native), { mode: 0o755 })
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const child = spawn(path)
      const ended = new Promise<[number | null, string | null]>((resolve) => child.on('exit', (code, by) => resolve([code, by])))
      const status = () => readFileSync(`/proc/${child.pid}/status`, 'utf8')
      // Bit 16 of the ignored signals is that of ended children.
      while (!/^SigIgn:\s+[0-9a-f]{11}[13579bdf][0-9a-f]{4}$/m.test(status()) || !/^SigCgt:\s+0*4002$/m.test(status())) {
        await new Promise((resolve) => setImmediate(resolve))
      }
      child.kill(signal)
      assert.deepEqual(await ended, [0, null])
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
})
