import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { V1Event } from '#api/audit/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { recordingLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { daysMs, LogBackend } from './log-backend.ts'

const event = (auditID: string) => ({ auditID }) as V1Event
const lineBytes = JSON.stringify(event('0')).length + 1

async function withLog(
  limits: { maxSizeBytes: number; maxBackups: number; maxAgeMs: number },
  play: (log: LogBackend, clock: VirtualClock, directory: string) => Promise<void>,
) {
  const directory = await nodeFiles.temporaryDirectory('audit-')
  const clock = new VirtualClock('2026-01-31T12:00:00Z')
  const log = new LogBackend({
    files: nodeFiles,
    clock,
    logger: recordingLogger([]),
    path: join(directory, 'logs', 'audit.log'),
    onError() {},
    ...limits,
  })
  try {
    await play(log, clock, join(directory, 'logs'))
  } finally {
    await log.close()
    await nodeFiles.remove(directory)
  }
}

async function idsIn(path: string): Promise<string> {
  const lines = (await nodeFiles.readText(path)).trim().split('\n')
  return lines.map((line) => (JSON.parse(line) as V1Event).auditID).join('')
}

test('events are lines of a file, in their order', async () => {
  await withLog({ maxSizeBytes: 0, maxBackups: 0, maxAgeMs: 0 }, async (log, _clock, directory) => {
    for (const id of '012345') log.process(event(id))
    await log.close()
    log.process(event('6'))
    await log.close()
    assert.equal(await idsIn(join(directory, 'audit.log')), '0123456')
    assert.deepEqual(await nodeFiles.list(directory), ['audit.log'])
  })
})

test('integers of 64 bits are written as they are', () =>
  withLog({ maxSizeBytes: 0, maxBackups: 0, maxAgeMs: 0 }, async (log, _clock, directory) => {
    log.process({ ...event('1'), requestObject: { size: 9_007_199_254_740_993n } as never })
    await log.close()
    assert.match(await nodeFiles.readText(join(directory, 'audit.log')), /"requestObject":\{"size":9007199254740993\}/)
  }))

test('a file that would grow past the limit is put aside, and old ones go', async () => {
  await withLog({ maxSizeBytes: 3 * lineBytes, maxBackups: 2, maxAgeMs: 0 }, async (log, clock, directory) => {
    for (const id of '0123456789') {
      log.process(event(id))
      await log.close()
      await clock.advance({ seconds: 1 })
    }
    const names = await nodeFiles.list(directory)
    assert.deepEqual(names, ['audit-2026-01-31T12-00-06.000.log', 'audit-2026-01-31T12-00-09.000.log', 'audit.log'])
    const ids = await Promise.all(names.map((name) => idsIn(join(directory, name))))
    assert.deepEqual(ids, ['345', '678', '9'])
  })
})

test('files older than their time go, others of the directory stay', async () => {
  await withLog({ maxSizeBytes: lineBytes, maxBackups: 0, maxAgeMs: daysMs(2) }, async (log, clock, directory) => {
    await nodeFiles.makeDirectory(directory)
    await nodeFiles.write(join(directory, 'audit-mine.log'), 'x')
    for (const id of '0123') {
      log.process(event(id))
      await log.close()
      await clock.advance({ days: 1 })
    }
    log.process(event('4'))
    await log.close()
    const names = await nodeFiles.list(directory)
    assert.ok(names.includes('audit-mine.log'))
    assert.equal(names.filter((name) => /^audit-2026/.test(name)).length, 3)
  })
})

test('a disk that does not keep up with large events loses some of them, and does not fill the memory', async () => {
  const writes: PromiseWithResolvers<void>[] = []
  let written = 0
  const file = {
    sizeBytes: async () => 0,
    write(bytes: Uint8Array) {
      written += bytes.length
      writes.push(Promise.withResolvers())
      return writes.at(-1)?.promise
    },
    close: async () => {},
  }
  const files = { ...nodeFiles, makeDirectory: async () => {}, open: async () => file } as unknown as typeof nodeFiles
  let lost = 0
  const clock = new VirtualClock()
  const log = new LogBackend({
    ...{ files, clock, logger: recordingLogger([]), path: '/audit.log', onError: () => lost++ },
    ...{ maxSizeBytes: 0, maxBackups: 0, maxAgeMs: 0 },
  })
  const large = { ...event('1'), requestObject: { fill: 'x'.repeat(1 << 20) } as never }
  for (let index = 0; index < 100; index++) log.process(large)
  assert.ok(lost >= 30 && lost < 60, `${lost}`)
  const closed = log.close()
  const goOn = setInterval(() => writes.shift()?.resolve())
  await closed
  clearInterval(goOn)
  assert.ok(written >= (100 - lost) << 20)
  const before = lost
  log.process(event('2'))
  assert.equal(lost, before)
  const closedAgain = log.close()
  const further = setInterval(() => writes.shift()?.resolve())
  await closedAgain
  clearInterval(further)
})
