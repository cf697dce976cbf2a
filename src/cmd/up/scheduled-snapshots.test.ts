import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from '#base/files.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { scheduleSnapshots } from '#cmd/up/scheduled-snapshots.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import { snapshotStatus } from '#store/snapshot.ts'

const hourMs = 3_600_000

async function scheduled(directory: string, records: LogRecord[] = []) {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1))
  const store = new MemoryStore({ clock })
  await store.txn({ success: [{ put: { key: '/registry/a', value: Buffer.from('1') } }] })
  const options = { store, directory, everyMs: 6 * hourMs, keep: 2 }
  const running = await scheduleSnapshots(options, { clock, files: nodeFiles, logger: recordingLogger(records) })
  return { clock, store, running }
}

/** Files are written in real time, whatever the clock says. */
async function logged(records: readonly LogRecord[], count: number): Promise<void> {
  while (records.length < count) await new Promise((resolve) => setImmediate(resolve))
}

test('a snapshot every six hours, of which the two newest are kept, and nothing else is touched', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'typernetes-snapshots-'))
  try {
    writeFileSync(join(directory, 'notes.txt'), 'mine')
    const records: LogRecord[] = []
    const { clock, store, running } = await scheduled(directory, records)
    await clock.advance(5 * hourMs)
    assert.deepEqual(readdirSync(directory), ['notes.txt'])
    await clock.advance(hourMs)
    await logged(records, 1)
    for (const count of [2, 3]) {
      await clock.advance(6 * hourMs)
      await logged(records, count)
    }
    await running[Symbol.asyncDispose]()
    assert.deepEqual(readdirSync(directory), ['notes.txt', 'snapshot-20260101T120000Z.snap', 'snapshot-20260101T180000Z.snap'])
    assert.equal((await snapshotStatus(join(directory, 'snapshot-20260101T180000Z.snap'), nodeFiles)).keys, 1)
    await store.close()
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('a snapshot that cannot be saved is an error in the log, and the next one is tried', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'typernetes-snapshots-'))
  try {
    writeFileSync(join(directory, 'file'), '')
    const records: LogRecord[] = []
    const { clock, store, running } = await scheduled(join(directory, 'file'), records)
    await clock.advance(6 * hourMs)
    await logged(records, 1)
    await clock.advance(6 * hourMs)
    await logged(records, 2)
    assert.deepEqual(
      records.map(({ level, message }) => [level, message]),
      Array.from({ length: 2 }, () => ['error', 'failed to save a snapshot of the store']),
    )
    await running[Symbol.asyncDispose]()
    await store.close()
  } finally {
    rmSync(directory, { recursive: true })
  }
})
