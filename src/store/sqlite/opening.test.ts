import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import { nodeSqlite } from '#base/sqlite.ts'
import { inlineChannel } from '#store/sqlite/file-client.ts'
import { readNewest } from '#store/sqlite/read-newest.ts'
import { openSqliteStore, type SqliteStore } from '#store/sqlite/sqlite-store.ts'

function directory() {
  const path = mkdtempSync(join(tmpdir(), 'typernetes-opening-'))
  return { path, file: join(path, 'store.db'), [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

function open(dataDir: string): Promise<SqliteStore> {
  const startFile = () => inlineChannel(nodeSqlite, nodeFiles)
  return openSqliteStore({ dataDir, clock: systemClock, logger: silentLogger, processId: process.pid, startFile })
}

async function filled(dataDir: string): Promise<void> {
  await using store = await open(dataDir)
  await store.grantLease(500, 2n ** 62n)
  const value = Buffer.alloc(1500, 'v')
  for (let index = 0; index < 40; index++) await store.txn({ success: [{ put: { key: `/key/${index}`, value } }] })
}

function digest(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

function flip(path: string, position: number): void {
  const bytes = readFileSync(path)
  bytes[position] = (bytes[position] ?? 0) ^ 0xff
  writeFileSync(path, bytes)
}

const pragma = (path: string, sql: string) => {
  const database = nodeSqlite.open(path)
  database.exec(sql)
  database.close()
}

const damages: { name: string; error: string; says: RegExp; damage(path: string): void }[] = [
  {
    name: 'a value has a wrong byte',
    error: 'DamagedStoreError',
    says: /checksum of row \d+ \(\/key\/\d+\).*snapshot restore/,
    damage: (path) => flip(path, readFileSync(path).lastIndexOf('vvvvvvvvvvvv')),
  },
  {
    name: 'a key has a wrong byte',
    error: 'DamagedStoreError',
    says: /checksum/,
    damage: (path) => flip(path, readFileSync(path).lastIndexOf('/key/3') + 4),
  },
  {
    name: 'a number is one that no version has',
    error: 'DamagedStoreError',
    says: /row \d+ \(\/key\/\d+\) cannot be read.*snapshot restore/,
    damage: (path) => pragma(path, 'UPDATE log SET version = -90 WHERE row = (SELECT max(row) FROM log)'),
  },
  {
    name: 'a counter is another number',
    error: 'DamagedStoreError',
    says: /checksum of the counter compacted is wrong.*snapshot restore/,
    damage: (path) => pragma(path, "UPDATE counters SET value = 7 WHERE name = 'compacted'"),
  },
  {
    name: 'a counter is gone',
    error: 'DamagedStoreError',
    says: /the counter revision is missing/,
    damage: (path) => pragma(path, "DELETE FROM counters WHERE name = 'revision'"),
  },
  {
    name: 'a lease lasts longer than it was granted for',
    error: 'DamagedStoreError',
    says: /checksum of lease \d+ is wrong/,
    damage: (path) => pragma(path, 'UPDATE leases SET seconds = seconds + 1'),
  },
  {
    name: 'the end is missing',
    error: 'DamagedStoreError',
    says: /store\.db is damaged/,
    damage: (path) => truncateSync(path, statSync(path).size - 16384),
  },
  {
    name: 'half a page is missing',
    error: 'DamagedStoreError',
    says: /is damaged/,
    damage: (path) => truncateSync(path, statSync(path).size - 8000),
  },
  {
    name: 'a page is all zeros',
    error: 'DamagedStoreError',
    says: /is damaged/,
    damage: (path) => writeFileSync(path, zeroed(readFileSync(path), 5)),
  },
  { name: 'it is empty', error: 'DamagedStoreError', says: /it is empty/, damage: (path) => truncateSync(path, 0) },
  {
    name: 'it is something else',
    error: 'NotAStoreError',
    says: /not an SQLite file/,
    damage: (path) => writeFileSync(path, 'hello'.repeat(5000)),
  },
  { name: 'it has a wrong magic', error: 'NotAStoreError', says: /not an SQLite file/, damage: (path) => flip(path, 0) },
  {
    name: 'it is another program’s',
    error: 'NotAStoreError',
    says: /application id is 0x2a/,
    damage: (path) => pragma(path, 'PRAGMA application_id = 42'),
  },
  {
    name: 'it is of a newer version',
    error: 'NewerSchemaError',
    says: /layout 99.*up to 2.*newer version/,
    damage: (path) => pragma(path, 'PRAGMA user_version = 99'),
  },
]

test('[ST25] a log without its file is not taken for the log of a new one', async () => {
  using dir = directory()
  const store = await open(dir.path)
  await store.txn({ success: [{ put: { key: '/a', value: Buffer.from('1') } }] })
  copyFileSync(`${dir.file}-wal`, join(dir.path, 'kept'))
  await store.close()
  rmSync(dir.file)
  renameSync(join(dir.path, 'kept'), `${dir.file}-wal`)
  await assert.rejects(open(dir.path), { name: 'DamagedStoreError', message: /it is missing, though its write-ahead log is there/ })
})

function zeroed(bytes: Buffer, page: number): Buffer {
  return bytes.fill(0, page * 16384, (page + 1) * 16384)
}

for (const { name, error, says, damage } of damages) {
  test(`[ST25] a file is refused when ${name}, with the file’s name and what to do, and stays as it is`, async () => {
    using dir = directory()
    await filled(dir.path)
    damage(dir.file)
    const before = digest(dir.file)
    await assert.rejects(open(dir.path), (thrown: Error) => {
      assert.equal(thrown.name, error)
      assert.match(thrown.message, says)
      assert.ok(thrown.message.includes(dir.file), thrown.message)
      assert.match(thrown.message, /Nothing was changed/)
      return true
    })
    assert.equal(digest(dir.file), before)
    // The refusal has let go of the directory.
    await assert.rejects(open(dir.path), { name: error })
  })
}

test('[ST25] a file of the first layout is taken over, and its leases and counters have checksums from then on', async () => {
  using dir = directory()
  await filled(dir.path)
  const columns = ['leases', 'counters'].map((table) => `ALTER TABLE ${table} DROP COLUMN checksum`)
  pragma(dir.file, `${columns.join('; ')}; PRAGMA user_version = 1`)
  assert.equal(readNewest(nodeSqlite, dir.file).leases.length, 1, 'it can be read as it is')
  {
    await using store = await open(dir.path)
    assert.deepEqual(
      (await store.leases()).map(({ id, grantedSeconds }) => [id, grantedSeconds]),
      [[2n ** 62n, 500]],
    )
    assert.equal(store.revision, 41)
  }
  pragma(dir.file, 'UPDATE leases SET seconds = 501')
  await assert.rejects(open(dir.path), { name: 'DamagedStoreError', message: /checksum of lease 4611686018427387904 is wrong/ })
})

test('[ST26] a second store on the same directory is refused by name and process, in this process and in another', async () => {
  using dir = directory()
  await using store = await open(dir.path)
  await store.txn({ success: [{ put: { key: '/a', value: Buffer.from('1') } }] })
  const before = readdirSync(dir.path)
  const expected = new RegExp(`${dir.path} is in use by process ${process.pid}\\b`)
  await assert.rejects(open(dir.path), { name: 'DirectoryInUseError', message: expected })
  const program = `
    import { openSqliteStore } from '#store/sqlite/sqlite-store.ts'
    import { systemClock } from '#base/clock.ts'
    import { silentLogger } from '#base/log.ts'
    await openSqliteStore({ dataDir: ${JSON.stringify(dir.path)}, clock: systemClock, logger: silentLogger, processId: process.pid })
  `
  const { exitCode, stderr } = await nodeProcesses.run(process.execPath, ['--input-type=module', '--eval', program], {
    directory: process.cwd(),
  })
  assert.notEqual(exitCode, 0)
  assert.match(stderr, expected)
  assert.deepEqual(readdirSync(dir.path), before)
  await store.txn({ success: [{ put: { key: '/a', value: Buffer.from('2') } }] })
})

test('[ST26] the directory is free again when the holder has closed', async () => {
  using dir = directory()
  await (await open(dir.path)).close()
  await using store = await open(dir.path)
  assert.equal(store.revision, 1)
})

test('[ST26] a store’s files are for its owner alone', async () => {
  using dir = directory()
  const nested = join(dir.path, 'made', 'on', 'demand')
  await using store = await open(nested)
  await store.txn({ success: [{ put: { key: '/secret', value: Buffer.from('1') } }] })
  for (const name of ['store.db', 'store.db-wal']) assert.equal(statSync(join(nested, name)).mode & 0o077, 0, name)
})

test('[ST27] a start that was cut short before the file was whole leaves nothing in the way', async () => {
  using dir = directory()
  writeFileSync(join(dir.path, 'store.db.draft'), 'half a file')
  writeFileSync(join(dir.path, 'store.db.draft-wal'), 'and half a log')
  await using store = await open(dir.path)
  await store.txn({ success: [{ put: { key: '/a', value: Buffer.from('1') } }] })
  assert.equal(existsSync(join(dir.path, 'store.db.draft')), false)
})

test('[ST27] a directory that cannot be written is refused with what to do', {
  skip: process.getuid?.() === 0 ? 'root may write everywhere' : false,
}, async () => {
  using dir = directory()
  chmodSync(dir.path, 0o500)
  await assert.rejects(open(dir.path), { name: 'DirectoryNotWritableError', message: /make it writable/ })
  chmodSync(dir.path, 0o700)
})
