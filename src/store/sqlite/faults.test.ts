import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { type Logger, type LogRecord, recordingLogger, silentLogger } from '#base/log.ts'
import { nodeSqlite, type SqliteError } from '#base/sqlite.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { type FileChannel, inlineChannel } from '#store/sqlite/file-client.ts'
import { openSqliteStore } from '#store/sqlite/sqlite-store.ts'
import { diskFaults, type FaultPoint, type Faults, faultySqlite } from '#store/sqlite/testing/faulty-sqlite.ts'
import type { Store } from '#store/store.ts'

const put = (store: Store, key: string, value: string) => store.txn({ success: [{ put: { key, value: Buffer.from(value) } }] })

async function contents(store: Store): Promise<unknown> {
  const { kvs, revision } = await store.range({ prefix: '' })
  return { revision, kvs: kvs.map(({ value, ...kv }) => ({ ...kv, value: Buffer.from(value).toString() })) }
}

/** What the writer is told, whether the value is there when the disk is well again. */
type Case = {
  name: string
  faults: [FaultPoint, SqliteError][]
  outcome: 'StoreUnavailableError' | 'OutcomeUnknownError' | 'done'
  isKept: boolean
}

const { full, failedSync, readOnly, cannotOpen } = diskFaults
const cases: Case[] = [
  { name: 'the disk is full while writing', faults: [['write', full()]], outcome: 'StoreUnavailableError', isKept: false },
  { name: 'the disk is full at commit', faults: [['commit', full()]], outcome: 'StoreUnavailableError', isKept: false },
  { name: 'the directory has become read-only', faults: [['begin', readOnly()]], outcome: 'StoreUnavailableError', isKept: false },
  {
    name: 'the sync fails and the commit is not in the file',
    faults: [['commit', failedSync()]],
    outcome: 'StoreUnavailableError',
    isKept: false,
  },
  { name: 'the sync fails and the commit is in the file', faults: [['committed', failedSync()]], outcome: 'done', isKept: true },
  {
    name: 'the sync fails, and the file cannot be opened to see that it is not there',
    faults: [
      ['commit', failedSync()],
      ['open', cannotOpen()],
    ],
    outcome: 'OutcomeUnknownError',
    isKept: false,
  },
  {
    name: 'the sync fails, and the file cannot be opened to see that it is there',
    faults: [
      ['committed', failedSync()],
      ['open', cannotOpen()],
    ],
    outcome: 'OutcomeUnknownError',
    isKept: true,
  },
]

for (const { name, faults: expected, outcome, isKept } of cases) {
  test(`[ST23] ${name}: nothing acknowledged is lost, and memory agrees with the disk`, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'typernetes-faults-'))
    using _ = { [Symbol.dispose]: () => rmSync(dataDir, { recursive: true }) }
    const clock = Object.assign(new VirtualClock(), { soon: systemClock.soon })
    const faults: Faults = new Map()
    const records: LogRecord[] = []
    const startFile = () => inlineChannel(faultySqlite(nodeSqlite, faults), nodeFiles)
    const store = await openSqliteStore({ dataDir, clock, logger: recordingLogger(records), processId: process.pid, startFile })
    const seen: string[] = []
    store.watch({ prefix: '/', onEvents: (events) => seen.push(...events.map(({ kv }) => `${kv.key}=${Buffer.from(kv.value)}`)) })
    const lease = await store.grantLease(3600)
    await put(store, '/a', 'before')
    await store.txn({ success: [{ put: { key: '/leased', value: Buffer.from('1'), lease: lease.id } }] })
    const { revision } = store

    for (const [point, error] of expected) faults.set(point, error)
    const writes = await Promise.allSettled([
      put(store, '/a', 'during'),
      put(store, '/new', 'during'),
      store.txn({ success: [{ delete: { key: '/leased' } }] }),
    ])
    for (const write of writes) {
      assert.equal(write.status === 'fulfilled' ? 'done' : write.reason.name, outcome)
    }
    assert.ok(store.trouble, 'the store says that it is in trouble')
    assert.match(records.find(({ level }) => level === 'error')?.message ?? '', /failed to write/)
    // While the trouble lasts: reads go on, writes are refused, and nothing uncertain is shown.
    await assert.rejects(put(store, '/b', 'refused'), { name: 'StoreUnavailableError' })
    await assert.rejects(store.grantLease(10), { name: 'StoreUnavailableError' })
    await assert.rejects(store.revokeLease(lease.id), { name: 'StoreUnavailableError' })
    const shown = outcome === 'done' ? 'during' : 'before'
    assert.equal(Buffer.from((await store.range({ key: '/a' })).kvs[0]?.value ?? Buffer.of()).toString(), shown)
    await clock.advance({ seconds: 5 })
    if (outcome !== 'done' || expected.some(([point]) => point === 'open'))
      assert.ok(store.trouble, 'trouble lasts as long as the disk is ill')

    faults.clear()
    for (let turn = 0; turn < 10 && store.trouble; turn++) await clock.advance({ seconds: 1 })
    assert.equal(store.trouble, undefined)
    assert.equal(store.revision, isKept ? revision + 3 : revision)
    assert.deepEqual(await store.leaseKeys(lease.id), isKept ? [] : ['/leased'])
    await put(store, '/after', '1')
    assert.deepEqual(seen, ['/a=before', '/leased=1', ...(isKept ? ['/a=during', '/new=during', '/leased='] : []), '/after=1'])
    const inMemory = await contents(store)
    await store.close()

    const again = await openSqliteStore({ dataDir, clock, logger: silentLogger, processId: process.pid, startFile })
    assert.deepEqual(await contents(again), inMemory)
    await again.close()
  })
}

test('[ST23] the thread that owns the file dies: another takes over, and what was under way is cleared up', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'typernetes-faults-'))
  using _ = { [Symbol.dispose]: () => rmSync(dataDir, { recursive: true }) }
  for (const isWritten of [false, true]) {
    const clock = Object.assign(new VirtualClock(), { soon: systemClock.soon })
    let die: () => void = () => {}
    const startFile = () =>
      mortal(inlineChannel(nodeSqlite, nodeFiles), isWritten, (kill) => {
        die = kill
      })
    const recovered = Promise.withResolvers<void>()
    const logger: Logger = { ...silentLogger, info: () => recovered.resolve() }
    const store = await openSqliteStore({ dataDir, clock, logger, processId: process.pid, startFile })
    const before = (await put(store, '/a', 'before')).revision
    die()
    await assert.rejects(put(store, '/a', 'during'), { name: 'OutcomeUnknownError' })
    assert.ok(store.trouble)
    await clock.advance({ seconds: 1 })
    await recovered.promise
    assert.equal(store.revision, isWritten ? before + 1 : before)
    await put(store, '/a', 'after')
    const inMemory = await contents(store)
    await store.close()
    const again = await openSqliteStore({ dataDir, clock, logger: silentLogger, processId: process.pid, startFile })
    assert.deepEqual(await contents(again), inMemory)
    await again.close()
  }
})

/** A channel whose thread dies at the next commit, before or after it was done. */
function mortal(channel: FileChannel, isWritten: boolean, onBorn: (kill: () => void) => void): FileChannel {
  let isDying = false
  let lose: (error: Error) => void = () => {}
  onBorn(() => {
    isDying = true
  })
  return {
    ...channel,
    post(request, transfer) {
      if (!isDying || request.call !== 'commit') return channel.post(request, transfer)
      if (isWritten) channel.post(request, transfer)
      channel.post({ ...request, call: 'close', takes: undefined }, [])
      channel.stop().then(() => lose(new Error('the thread has died')))
    },
    onReply: (receive) => channel.onReply((reply) => !isDying && receive(reply)),
    onLost(receive) {
      lose = receive
    },
  }
}
