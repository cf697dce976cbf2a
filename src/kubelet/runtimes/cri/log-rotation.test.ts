import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzip } from '#base/compression.ts'
import { type Files, nodeFiles } from '#base/files.ts'
import { type LogRecord, recordingLogger, silentLogger } from '#base/log.ts'
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

test('a log that is put aside takes no place of another, however soon it is too long again', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'rotation-'))
  const clock = new VirtualClock()
  const logFile = join(directory, '0.log')
  using rotation = new LogRotation({
    ...{ clock, files: nodeFiles, logger: silentLogger, maxBytes: 10, maxFiles: 4, everyMs: 3_600_000 },
    logs: () => [{ id: 'c', logFile }],
    reopen: async () => writeFileSync(logFile, ''),
  })
  for (const text of ['the first, long enough', 'the second, long enough']) {
    writeFileSync(logFile, text)
    for (let look = 0; look < 2; look++) await rotation.rotateAll()
  }
  assert.equal(readFileSync(logFile, 'utf8'), 'the second, long enough')
  await clock.advance({ seconds: 1 })
  await rotation.rotateAll()
  const texts = await Promise.all(
    readdirSync(directory).map(async (name) => {
      const bytes = readFileSync(join(directory, name))
      return (name.endsWith('.gz') ? await gunzip(bytes) : bytes).toString()
    }),
  )
  assert.deepEqual(texts.toSorted(), ['', 'the first, long enough', 'the second, long enough'])
  rmSync(directory, { recursive: true })
})

test('so many logs are rotated at a time', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'rotation-'))
  const logs = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, logFile: join(directory, `${id}.log`) }))
  for (const { logFile } of logs) writeFileSync(logFile, 'long enough to be put aside')
  let running = 0
  let most = 0
  const second = Promise.withResolvers<void>()
  using rotation = new LogRotation({
    ...{ clock: new VirtualClock(), files: nodeFiles, logger: silentLogger, maxBytes: 10, maxFiles: 4, everyMs: 3_600_000, workers: 2 },
    logs: () => logs,
    async reopen(id) {
      most = Math.max(most, ++running)
      // Whichever of the first two comes first waits for the other.
      if (running === 2) second.resolve()
      await second.promise
      running--
      writeFileSync(join(directory, `${id}.log`), '')
    },
  })
  try {
    await rotation.rotateAll()
    assert.equal(most, 2)
    assert.deepEqual(logs.map(({ logFile }) => readFileSync(logFile, 'utf8')).join(''), '')
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('a log that cannot be looked at is told of, and keeps no other', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'rotation-'))
  const logs = ['bad', 'good'].map((id) => ({ id, logFile: join(directory, `${id}.log`) }))
  for (const { logFile } of logs) writeFileSync(logFile, 'long enough to be put aside')
  const stat = (path: string) => (path.endsWith('bad.log') ? Promise.reject(new Error('EIO: i/o error')) : nodeFiles.stat(path))
  const records: LogRecord[] = []
  const reopened: string[] = []
  using rotation = new LogRotation({
    ...{
      clock: new VirtualClock(),
      files: { ...nodeFiles, stat },
      logger: recordingLogger(records),
      maxBytes: 10,
      maxFiles: 4,
      everyMs: 3_600_000,
    },
    logs: () => logs,
    reopen: async (id) => void reopened.push(id),
  })
  try {
    await rotation.rotateAll()
    assert.deepEqual(reopened, ['good'])
    assert.deepEqual(
      records.map(({ message, fields }) => [message, fields['error']]),
      [['failed to rotate container log', 'Error: EIO: i/o error']],
    )
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('a log that the runtime will not leave stays where it is', () =>
  withRotation(async ({ directory, log, rotate }) => {
    writeFileSync(log, 'long enough to be put aside')
    await rotate()
    assert.deepEqual(readdirSync(directory), ['0.log'])
    assert.equal(readFileSync(log, 'utf8'), 'long enough to be put aside')
  }, new Error('no')))

test('a log of any size is compressed piece by piece, and none is read as a whole', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'rotation-'))
  const clock = new VirtualClock()
  const logFile = join(directory, '0.log')
  const content = Buffer.alloc(3_000_000, 'all work and no play\n')
  const refused = () => Promise.reject(new Error('File size (2147483649) is greater than 2 GiB'))
  using rotation = new LogRotation({
    ...{ clock, files: { ...nodeFiles, read: refused, readText: refused }, logger: silentLogger },
    ...{ maxBytes: 10, maxFiles: 4, everyMs: 3_600_000 },
    logs: () => [{ id: 'c', logFile }],
    reopen: async () => writeFileSync(logFile, ''),
  })
  try {
    // Left by a run that was stopped at its work.
    writeFileSync(`${logFile}.20250101-000000.tmp`, 'half')
    for (let round = 0; round < 2; round++) {
      writeFileSync(logFile, content)
      await clock.advance({ seconds: 10 })
      await rotation.rotateAll()
    }
    const [, older = '', ...rest] = readdirSync(directory).sort()
    assert.deepEqual([older, rest], ['0.log.20260101-000010.gz', ['0.log.20260101-000020']])
    assert.deepEqual(await gunzip(readFileSync(join(directory, older))), content)
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('a log is put aside though those before it cannot be compressed', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'rotation-'))
  const clock = new VirtualClock()
  const logFile = join(directory, '0.log')
  const open: Files['open'] = () => Promise.reject(new Error('ENOSPC: no space left on device'))
  const records: LogRecord[] = []
  using rotation = new LogRotation({
    ...{ clock, files: { ...nodeFiles, open }, logger: recordingLogger(records), maxBytes: 10, maxFiles: 4, everyMs: 3_600_000 },
    logs: () => [{ id: 'c', logFile }],
    reopen: async () => writeFileSync(logFile, ''),
  })
  try {
    for (let round = 0; round < 6; round++) {
      writeFileSync(logFile, 'long enough to be put aside')
      await clock.advance({ seconds: 10 })
      await rotation.rotateAll()
      assert.equal(readFileSync(logFile, 'utf8'), '')
    }
    assert.equal(readdirSync(directory).length, 4)
    assert.equal(records.length, 5)
  } finally {
    rmSync(directory, { recursive: true })
  }
})
