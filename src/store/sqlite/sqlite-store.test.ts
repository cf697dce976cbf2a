import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { nodeSqlite } from '#base/sqlite.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { inlineChannel } from '#store/sqlite/file-client.ts'
import { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from '#store/sqlite/sqlite-store.ts'
import type { Store, StoreEvent } from '#store/store.ts'

function directory() {
  const path = mkdtempSync(join(tmpdir(), 'typernetes-sqlite-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}

function open(dataDir: string, options: Partial<SqliteStoreOptions> = {}): Promise<SqliteStore> {
  const startFile = () => inlineChannel(nodeSqlite, nodeFiles)
  return openSqliteStore({ dataDir, clock: systemClock, logger: silentLogger, processId: process.pid, startFile, ...options })
}

const put = (store: Store, key: string, value: string, lease = 0n) =>
  store.txn({ success: [{ put: { key, value: Buffer.from(value), lease } }] })
const remove = (store: Store, key: string) => store.txn({ success: [{ delete: { key } }] })

async function contents(store: Store, revision?: number): Promise<string[]> {
  const { kvs } = await store.range({ prefix: '', ...omitEmpty({ revision }) })
  return kvs.map(({ key, value, ...numbers }) => `${key}=${Buffer.from(value)} ${Object.values(numbers).join(' ')}`)
}

test('[ST20] everything is there after closing and opening: values, numbers, history, leases', async () => {
  using dir = directory()
  const before = await open(dir.path)
  const lease = await before.grantLease(500, 2n ** 62n)
  const first = (await put(before, '/a', '1')).revision
  await put(before, '/ä/\u{1f600}', 'ü')
  await put(before, '/leased', '1', lease.id)
  await put(before, '/a', '2')
  await remove(before, '/leased')
  await put(before, '/leased', '2', lease.id)
  await before.txn({ success: [{ put: { key: '/b', value: Buffer.from('x') } }, { put: { key: '/c', value: Buffer.of() } }] })
  const past = await Promise.all([first, first + 2, first + 4].map((revision) => contents(before, revision)))
  const now = await contents(before)
  const { revision } = before
  await before.close()

  await using after = await open(dir.path)
  assert.equal(after.revision, revision)
  assert.deepEqual(await contents(after), now)
  assert.deepEqual(await Promise.all([first, first + 2, first + 4].map((at) => contents(after, at))), past)
  assert.deepEqual(
    (await after.leases()).map(({ id, grantedSeconds }) => [id, grantedSeconds]),
    [[lease.id, 500]],
  )
  assert.deepEqual(await after.leaseKeys(lease.id), ['/leased'])
  const events: StoreEvent[] = []
  const watch = after.watch({ prefix: '/', fromRevision: first, onEvents: (batch) => events.push(...batch) })
  await watch.progress()
  assert.deepEqual(
    events.map(({ type, kv, prev }) => `${type} ${kv.key} ${kv.modRevision - first} ${prev ? Buffer.from(prev.value) : '-'}`),
    [
      'put /a 0 -',
      'put /ä/\u{1f600} 1 -',
      'put /leased 2 -',
      'put /a 3 1',
      'delete /leased 4 1',
      'put /leased 5 -',
      'put /b 6 -',
      'put /c 6 -',
    ],
  )
  assert.equal((await put(after, '/a', '3')).revision, revision + 1)
})

test('[ST20] revisions go on rising though the newest was a deletion that is compacted away', async () => {
  using dir = directory()
  const before = await open(dir.path)
  await put(before, '/a', '1')
  const { revision } = await remove(before, '/a')
  await before.compact(revision)
  await before.close()
  await using after = await open(dir.path)
  assert.deepEqual([after.revision, after.compactedRevision], [revision, revision])
  assert.deepEqual(await contents(after), [])
  assert.equal((await put(after, '/a', '2')).revision, revision + 1)
})

test('[ST20] a compaction cut short by a stop is finished at the next start', async () => {
  using dir = directory()
  const before = await open(dir.path)
  for (let index = 0; index < 50; index++) await put(before, '/a', String(index))
  await put(before, '/b', '1')
  const now = await contents(before)
  await before.compact(before.revision)
  // Closed before the rows of the old versions were deleted.
  await before.close()
  const after = await open(dir.path)
  assert.deepEqual(await contents(after), now)
  await assert.rejects(after.range({ key: '/a', revision: 3 }), { name: 'CompactedError' })
  await put(after, '/b', '2')
  await put(after, '/b', '3')
  await after.close()
  const database = nodeSqlite.open(join(dir.path, 'store.db'), { readOnly: true })
  assert.deepEqual(database.prepare("SELECT count(*) FROM log WHERE key = '/a'").get(), [1])
  database.close()
})

test('[ST21] history is kept for its window and forgotten after it', async () => {
  using dir = directory()
  const clock = Object.assign(new VirtualClock(), { soon: systemClock.soon })
  await using store = await open(dir.path, { clock, historyMs: 60_000 })
  const { revision } = await put(store, '/a', '1')
  await put(store, '/a', '2')
  await clock.advance({ seconds: 59 })
  assert.equal((await store.range({ key: '/a', revision })).count, 1)
  await clock.advance({ seconds: 10 })
  await store.txn({ success: [{ range: { key: '/a' } }] })
  await assert.rejects(store.range({ key: '/a', revision }), { name: 'CompactedError' })
  assert.equal((await store.range({ key: '/a' })).count, 1)
  const pending = clock.pending
  await clock.advance({ hours: 1 })
  assert.equal(clock.pending, pending, 'an idle store sets no timers')
})

test('[ST21] history goes before its time when it outgrows its memory', async () => {
  using dir = directory()
  await using store = await open(dir.path, { historyBytes: 100_000 })
  const { revision } = await put(store, '/a', 'x'.repeat(1000))
  for (let index = 0; index < 500; index++) await put(store, '/a', 'x'.repeat(1000))
  await assert.rejects(store.range({ key: '/a', revision }), { name: 'CompactedError' })
  assert.equal((await store.range({ key: '/a', revision: store.revision - 20 })).count, 1)
})

test('[ST22] the file does not grow without bound under steady overwrites, and shrinks when much is deleted', async () => {
  using dir = directory()
  await using store = await open(dir.path, { historyBytes: 500_000 })
  const value = Buffer.alloc(2000, 1)
  const round = async () => {
    const keys = Array.from({ length: 100 }, (_, key) => `/k${key}`)
    await Promise.all(keys.map((key) => store.txn({ success: [{ put: { key, value } }] })))
  }
  for (let count = 0; count < 20; count++) await round()
  const early = await store.size()
  for (let count = 0; count < 100; count++) await round()
  await store.compact(store.revision)
  const late = await store.size()
  assert.ok(late.usedBytes < 2 * early.usedBytes, `${early.usedBytes} bytes in use, then ${late.usedBytes}`)
  await store.txn({ success: [{ delete: { prefix: '/' } }] })
  await store.compact(store.revision)
  await store.defragment()
  const { totalBytes } = await store.size()
  assert.ok(totalBytes < 200_000, `${totalBytes} bytes left`)
})

test('[ST21] a store compacts while writers go on', async () => {
  using dir = directory()
  await using store = await open(dir.path, { historyBytes: 50_000 })
  let done = 0
  await Promise.all(
    Array.from({ length: 20 }, async (_, writer) => {
      for (let index = 0; index < 50; index++) {
        await put(store, `/w${writer}`, String(index).repeat(50))
        done++
      }
    }),
  )
  assert.equal(done, 1000)
  assert.ok(store.compactedRevision > 0)
  assert.equal((await store.range({ prefix: '/w' })).count, 20)
})
