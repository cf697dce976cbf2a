import assert from 'node:assert/strict'
import { appendFileSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { nodeSqlite } from '#base/sqlite.ts'
import { inlineChannel } from '#store/sqlite/file-client.ts'
import { openSqliteStore, type SqliteStore } from '#store/sqlite/sqlite-store.ts'
import { logFault } from '#store/sqlite/write-ahead-log.ts'

const files = ['store.db', 'store.db-wal', 'store.mark']
const writes = 12
const frameBytes = 24 + 16384

function open(dataDir: string): Promise<SqliteStore> {
  const startFile = () => inlineChannel(nodeSqlite, nodeFiles)
  return openSqliteStore({ dataDir, clock: systemClock, logger: silentLogger, processId: process.pid, startFile })
}

/** What a store leaves that was killed: its files while it is in use. */
async function killedStore() {
  const root = mkdtempSync(join(tmpdir(), 'typernetes-log-'))
  const left = mkdtempSync(join(root, 'left-'))
  const store = await open(join(root, 'live'))
  const put = (index: number) => store.txn({ success: [{ put: { key: `/key/${index}`, value: Buffer.alloc(3000, 'v') } }] })
  for (let index = 0; index < writes - 1; index++) await put(index)
  const earlierMark = readFileSync(join(root, 'live', 'store.mark'))
  await put(writes - 1)
  for (const name of files) copyFileSync(join(root, 'live', name), join(left, name))
  await store.close()
  return {
    earlierMark,
    /** A copy of its own to be damaged. */
    copy(): string {
      const directory = mkdtempSync(join(root, 'copy-'))
      for (const name of files) copyFileSync(join(left, name), join(directory, name))
      return directory
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  }
}

async function keysIn(directory: string): Promise<number> {
  await using store = await open(directory)
  return (await store.range({ prefix: '/key/' })).count
}

const walOf = (directory: string) => join(directory, 'store.db-wal')

function flip(path: string, position: number): void {
  const bytes = readFileSync(path)
  bytes[position] = (bytes[position] ?? 0) ^ 0x40
  writeFileSync(path, bytes)
}

test('[ST25] a log with one wrong byte anywhere is refused by name and place, and stays as it is', async () => {
  using killed = await killedStore()
  const random = seededRandom(7)
  const size = statSync(walOf(killed.copy())).size
  // The header, the head of a frame, and bytes at random.
  const positions = [3, 9, 17, 25, 32, 37, 41, 50, ...Array.from({ length: 40 }, () => random.int(size)), size - 1]
  for (const position of positions) {
    const directory = killed.copy()
    const wal = walOf(directory)
    flip(wal, position)
    const before = readFileSync(wal)
    await assert.rejects(open(directory), (error: Error) => {
      assert.equal(error.name, 'DamagedStoreError', `${position}: ${error.message}`)
      assert.ok(error.message.includes(wal), error.message)
      assert.match(error.message, /Nothing was changed/)
      return true
    })
    assert.ok(before.equals(readFileSync(wal)), `byte ${position}: the log was changed`)
  }
})

test('[ST25] the message names the frame that is wrong', async () => {
  using killed = await killedStore()
  const directory = killed.copy()
  flip(walOf(directory), 32 + 2 * frameBytes + 5000)
  await assert.rejects(open(directory), /frame 3 of \d+ \(at byte 32848\) is wrong, and \d+ commits behind it are sound/)
})

test('[ST25] without its mark, too, a log is refused where later commits are behind the wrong byte', async () => {
  using killed = await killedStore()
  const directory = killed.copy()
  rmSync(join(directory, 'store.mark'))
  flip(walOf(directory), 32 + frameBytes + 100)
  await assert.rejects(open(directory), { name: 'DamagedStoreError', message: /commits behind it are sound/ })
})

test('[ST25] a log that is gone, or cut, is missed by the mark', async () => {
  using killed = await killedStore()
  const gone = killed.copy()
  rmSync(walOf(gone))
  await assert.rejects(open(gone), /is damaged: it is missing; row 12 was written, and the last that can be read is row 0/)
  const cut = killed.copy()
  truncateSync(walOf(cut), 32 + 5 * frameBytes)
  await assert.rejects(open(cut), /it ends too early; row 12 was written/)
  // Whoever wants what is left may have it.
  rmSync(join(cut, 'store.mark'))
  assert.ok((await keysIn(cut)) < writes)
})

test('[ST24] what a kill or a power cut leaves at the end of a log is no damage', async () => {
  using killed = await killedStore()
  const torn = killed.copy()
  appendFileSync(walOf(torn), Buffer.alloc(9000, 7))
  assert.equal(await keysIn(torn), writes)

  // The last commit reached neither the disk nor the mark.
  const cut = killed.copy()
  const bytes = readFileSync(walOf(cut))
  bytes.fill(0, bytes.length - 8000)
  writeFileSync(walOf(cut), bytes)
  writeFileSync(join(cut, 'store.mark'), killed.earlierMark)
  assert.equal(await keysIn(cut), writes - 1)

  const whole = killed.copy()
  assert.equal(logFault(readFileSync(walOf(whole))), undefined)
  assert.equal(await keysIn(whole), writes)
})

test('[ST25] a mark that is spoilt or not there is done without', async () => {
  using killed = await killedStore()
  const spoilt = killed.copy()
  flip(join(spoilt, 'store.mark'), 9)
  assert.equal(await keysIn(spoilt), writes)
  const absent = killed.copy()
  rmSync(join(absent, 'store.mark'))
  assert.equal(await keysIn(absent), writes)
  assert.ok(existsSync(join(absent, 'store.mark')))
})

test('[ST20] a store whose newest row was forgotten opens again', async () => {
  using killed = await killedStore()
  const directory = killed.copy()
  const store = await open(directory)
  await store.txn({ success: [{ delete: { key: '/key/0' } }] })
  await store.compact(store.revision)
  await store.defragment()
  await store.close()
  assert.equal(await keysIn(directory), writes - 1)
  assert.equal(await keysIn(directory), writes - 1)
})
