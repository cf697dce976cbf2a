import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { nodeSqlite } from '#base/sqlite.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import { restoreSnapshot, saveSnapshot, saveSnapshotOfDirectory, snapshotStatus } from '#store/snapshot.ts'
import { inlineChannel } from '#store/sqlite/file-client.ts'
import { openSqliteStore } from '#store/sqlite/sqlite-store.ts'
import type { Store } from '#store/store.ts'

const seams = { sqlite: nodeSqlite, files: nodeFiles, processId: process.pid }

function workplace() {
  const path = mkdtempSync(join(tmpdir(), 'typernetes-snapshot-'))
  return { dataDir: join(path, 'data'), file: join(path, 'backup.snap'), [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}

const open = (dataDir: string) =>
  openSqliteStore({
    dataDir,
    clock: systemClock,
    logger: silentLogger,
    processId: process.pid,
    startFile: () => inlineChannel(nodeSqlite, nodeFiles),
  })

async function fill(store: Store): Promise<void> {
  const { id } = await store.grantLease(900, 2n ** 60n + 1n)
  for (let index = 0; index < 300; index++) {
    const value = Buffer.alloc(3000, `value ${index} `)
    await store.txn({ success: [{ put: { key: `/key/${index}`, value, lease: index % 10 === 0 ? id : 0n } }] })
  }
  await store.txn({ success: [{ put: { key: '/key/1', value: Buffer.from('again') } }, { delete: { key: '/key/2' } }] })
}

async function contents(store: Store, revision = 0) {
  const { kvs } = await store.range({ prefix: '', revision })
  return kvs.map(({ value, ...kv }) => ({ ...kv, digest: createHash('md5').update(value).digest('hex') }))
}

test('[ST40] a snapshot of a store in use restores to the state of one revision', async () => {
  using place = workplace()
  await using store = new MemoryStore({ clock: systemClock })
  await fill(store)
  const saving = saveSnapshot(store, place.file, nodeFiles)
  // Writers go on meanwhile, and what they write is in it up to one revision.
  for (let index = 0; index < 20; index++) {
    await store.txn({
      success: [{ put: { key: `/key/${index}`, value: Buffer.from('new') } }, { put: { key: `/new/${index}`, value: Buffer.from('new') } }],
    })
  }
  const status = await saving
  const expected = await contents(store, status.revision)
  assert.deepEqual([status.keys, status.leases], [expected.length, 1])
  assert.deepEqual(await snapshotStatus(place.file, nodeFiles), status)
  assert.equal(readFileSync(place.file).length % 512, 32, 'etcdctl finds the checksum by this')

  await restoreSnapshot(place.file, place.dataDir, seams)
  await using restored = await open(place.dataDir)
  assert.deepEqual(await contents(restored), expected)
  assert.deepEqual(
    (await restored.leases()).map(({ id, grantedSeconds }) => [id, grantedSeconds]),
    [[2n ** 60n + 1n, 900]],
  )
  const leased = expected.filter(({ lease }) => lease !== 0n).map(({ key }) => key)
  assert.deepEqual(await restored.leaseKeys(2n ** 60n + 1n), leased.sort())
})

test('[ST41] a restored store is ahead of every revision its clients may remember, and sends them back to listing', async () => {
  using place = workplace()
  await using store = new MemoryStore({ clock: systemClock })
  await fill(store)
  await saveSnapshot(store, place.file, nodeFiles)
  for (let index = 0; index < 50; index++) await store.txn({ success: [{ put: { key: '/lost', value: Buffer.from(String(index)) } }] })
  const remembered = store.revision
  await restoreSnapshot(place.file, place.dataDir, seams)
  await using restored = await open(place.dataDir)
  assert.ok(restored.revision > remembered)
  assert.throws(() => restored.watch({ prefix: '/', fromRevision: remembered + 1, onEvents() {} }), { name: 'CompactedError' })
  const { revision } = await restored.txn({ success: [{ put: { key: '/new', value: Buffer.from('x') } }] })
  assert.equal(revision, restored.revision)
})

test('[ST40] a data directory is saved while another holds it, and while nobody does', async () => {
  using place = workplace()
  const store = await open(place.dataDir)
  await fill(store)
  const expected = await contents(store)
  const online = await saveSnapshotOfDirectory(place.dataDir, place.file, seams)
  assert.deepEqual([online.revision, online.keys, online.leases], [store.revision, 299, 1])
  await store.txn({ success: [{ put: { key: '/still', value: Buffer.from('writes') } }] })
  await store.close()
  const offline = await saveSnapshotOfDirectory(place.dataDir, `${place.file}2`, seams)
  assert.equal(offline.keys, 300)
  await restoreSnapshot(place.file, place.dataDir, { ...seams, force: true })
  await using restored = await open(place.dataDir)
  assert.deepEqual(await contents(restored), expected)
})

test('[ST42] restoring refuses to overwrite, and to take a directory that is in use', async () => {
  using place = workplace()
  const store = await open(place.dataDir)
  await fill(store)
  await saveSnapshot(store, place.file, nodeFiles)
  await store.txn({ success: [{ put: { key: '/newer', value: Buffer.from('x') } }] })
  await assert.rejects(restoreSnapshot(place.file, place.dataDir, { ...seams, force: true }), { name: 'DirectoryInUseError' })
  await store.close()
  await assert.rejects(restoreSnapshot(place.file, place.dataDir, seams), {
    name: 'WouldOverwriteError',
    message: /--force.*Nothing was changed/,
  })
  const kept = await open(place.dataDir)
  assert.equal((await kept.range({ key: '/newer' })).count, 1)
  await kept.close()
  await restoreSnapshot(place.file, place.dataDir, { ...seams, force: true })
  await using restored = await open(place.dataDir)
  assert.equal((await restored.range({ key: '/newer' })).count, 0)
})

test('[ST43] a snapshot that is damaged, cut short, foreign or newer is refused, and nothing is touched', async () => {
  using place = workplace()
  await using store = new MemoryStore({ clock: systemClock })
  await fill(store)
  await saveSnapshot(store, place.file, nodeFiles)
  const whole = readFileSync(place.file)
  const header = whole.indexOf('"format":1')
  const cases: [string, RegExp, () => void][] = [
    ['SnapshotDamagedError', /checksum/, () => writeFileSync(place.file, flipped(whole, 100_000))],
    ['SnapshotDamagedError', /checksum/, () => writeFileSync(place.file, flipped(whole, whole.length - 1))],
    ['SnapshotDamagedError', /cut short/, () => truncateSync(place.file, whole.length - 100)],
    ['SnapshotDamagedError', /checksum/, () => truncateSync(place.file, whole.length - 512)],
    ['SnapshotDamagedError', /not a snapshot/, () => writeFileSync(place.file, 'something else')],
    ['SnapshotDamagedError', /no snapshot/, () => rmSync(place.file)],
    ['NewerSnapshotError', /format 9.*newer version/, () => writeFileSync(place.file, resealed(whole, header + 9, '9'))],
  ]
  for (const [name, message, damage] of cases) {
    writeFileSync(place.file, whole)
    damage()
    await assert.rejects(snapshotStatus(place.file, nodeFiles), { name, message })
    await assert.rejects(restoreSnapshot(place.file, place.dataDir, seams), { name, message })
    assert.equal(existsSync(place.dataDir), false)
  }
})

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}

/** With other content and a checksum that fits it. */
function resealed(bytes: Buffer, at: number, text: string): Buffer {
  const copy = Buffer.from(bytes)
  copy.write(text, at)
  createHash('sha256')
    .update(copy.subarray(0, -32))
    .digest()
    .copy(copy, copy.length - 32)
  return copy
}
