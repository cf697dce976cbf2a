import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzip } from '#base/compression.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { LogRotation } from '#kubelet/runtimes/cri/log-rotation.ts'

type Place = { directory: string; log: string; rotate(): Promise<void> }

async function withRotation(run: (place: Place) => Promise<void>, refusal?: Error): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'rotation-'))
  const clock = new VirtualClock()
  const log = join(directory, '0.log')
  using rotation = new LogRotation({
    ...{ clock, files: nodeFiles, logger: silentLogger, maxBytes: 10, maxFiles: 4, everyMs: 3_600_000 },
    logs: () => [{ id: 'c', logFile: log }],
    async reopen() {
      if (refusal) throw refusal
      writeFileSync(log, '')
    },
  })
  const rotate = async () => {
    await clock.advance({ seconds: 10 })
    await rotation.rotateAll()
  }
  try {
    await run({ directory, log, rotate })
  } finally {
    rmSync(directory, { recursive: true })
  }
}

test('a log that is too long is put aside, older ones are compressed, the oldest go', () =>
  withRotation(async ({ directory, log, rotate }) => {
    writeFileSync(log, 'short')
    await rotate()
    assert.deepEqual(readdirSync(directory), ['0.log'])
    for (let round = 1; round <= 5; round++) {
      writeFileSync(log, `round ${round}: long enough`)
      await rotate()
      assert.equal(readFileSync(log, 'utf8'), '')
    }
    assert.deepEqual(readdirSync(directory).sort(), [
      '0.log',
      '0.log.20260101-000040.gz',
      '0.log.20260101-000050.gz',
      '0.log.20260101-000100',
    ])
    const older = await gunzip(readFileSync(join(directory, '0.log.20260101-000050.gz')))
    assert.equal(older.toString(), 'round 4: long enough')
  }))

test('a log that the runtime will not leave stays where it is', () =>
  withRotation(async ({ directory, log, rotate }) => {
    writeFileSync(log, 'long enough to be put aside')
    await rotate()
    assert.deepEqual(readdirSync(directory), ['0.log'])
    assert.equal(readFileSync(log, 'utf8'), 'long enough to be put aside')
  }, new Error('no')))
