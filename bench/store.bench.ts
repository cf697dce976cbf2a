/** The store against the disk it lies on, bare SQLite, and a real etcd: 2 KB values, every acknowledged write durable. */
import { spawnSync } from 'node:child_process'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { openEtcdStore } from '#store/etcd/etcd-store.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import { openSqliteStore } from '#store/sqlite/sqlite-store.ts'
import type { Store } from '#store/store.ts'
import type { Bench } from '../scripts/bench.ts'
import { etcdMissing, startEtcd } from '../test/contracts/etcd-server.ts'

const value = Buffer.alloc(2048, 'v')
const objects = 100_000

export default async function storeBench(bench: Bench): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'typernetes-bench-'))
  try {
    await measure(bench, directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

async function measure(bench: Bench, directory: string): Promise<void> {
  const open = (name: string) =>
    openSqliteStore({ dataDir: join(directory, name), clock: systemClock, logger: silentLogger, processId: process.pid })
  const store = await open('write')
  const alone = await writes(store, 1, 2_000)
  const appendAlone = appends(join(directory, 'append'), 1, 500)
  bench.report({
    case: 'store: 1 writer, median latency',
    figure: alone.medianMs,
    unit: 'ms',
    comparedWith: 'append + fdatasync',
    ratio: alone.medianMs / appendAlone.medianMs,
  })
  bench.report({ case: 'append + fdatasync of one value, median', figure: appendAlone.medianMs, unit: 'ms' })
  for (const writers of [64, 512]) {
    const count = writers * 400
    const ours = await writes(store, writers, count)
    const bare = bareSqlite(join(directory, `bare-${writers}.db`), writers, count)
    const append = appends(join(directory, 'append'), writers, count)
    bench.report({
      case: `store: ${writers} writers`,
      figure: ours.perSecond,
      unit: 'durable writes/s',
      comparedWith: 'bare SQLite loop',
      ratio: ours.perSecond / bare,
    })
    bench.report({ case: `bare SQLite loop, ${writers} rows a commit`, figure: bare, unit: 'durable writes/s' })
    bench.report({ case: `append + fdatasync, ${writers} values a sync`, figure: append.perSecond, unit: 'durable writes/s' })
    if (writers === 64) await compareWithEtcd(bench, ours.perSecond, alone.medianMs)
  }
  await store.close()
  await watchLatency(bench, open)
  await opening(bench, directory, open)
  await ranging(bench)
}

/** Creates keys as the API server does: if absent, put. */
async function writes(store: Store, writers: number, count: number): Promise<{ perSecond: number; medianMs: number }> {
  const run = `${writers}-${store.revision}`
  const latencies: number[] = []
  let next = 0
  const started = performance.now()
  const write = async () => {
    while (next < count) {
      const key = `/registry/pods/${run}/pod-${next++}`
      const from = performance.now()
      await store.txn({ compare: [{ key, target: 'modRevision', op: '=', value: 0 }], success: [{ put: { key, value } }] })
      latencies.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  return { perSecond: (count / (performance.now() - started)) * 1000, medianMs: median(latencies) }
}

function bareSqlite(path: string, batch: number, count: number): number {
  const database = new DatabaseSync(path)
  database.exec('PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2000')
  database.exec('CREATE TABLE log (row INTEGER PRIMARY KEY, key TEXT, value BLOB)')
  const insert = database.prepare('INSERT INTO log VALUES (?, ?, ?)')
  const started = performance.now()
  for (let row = 0; row < count; ) {
    database.exec('BEGIN')
    for (let index = 0; index < batch; index++, row++) insert.run(row, `/registry/pods/default/pod-${row}`, value)
    database.exec('COMMIT')
  }
  const elapsed = performance.now() - started
  database.close()
  return (count / elapsed) * 1000
}

function appends(path: string, batch: number, count: number): { perSecond: number; medianMs: number } {
  const file = openSync(path, 'w')
  const bytes = Buffer.alloc(value.length * batch, 'v')
  const latencies: number[] = []
  const started = performance.now()
  for (let done = 0; done < count; done += batch) {
    const from = performance.now()
    writeSync(file, bytes)
    fdatasyncSync(file)
    latencies.push(performance.now() - from)
  }
  const perSecond = (count / (performance.now() - started)) * 1000
  closeSync(file)
  return { perSecond, medianMs: median(latencies) }
}

async function compareWithEtcd(bench: Bench, oursPerSecond: number, oursMs: number): Promise<void> {
  if (etcdMissing) return console.error(`without etcd: ${etcdMissing}`)
  await using server = await startEtcd()
  await using store = await openEtcdStore({ clock: systemClock, logger: silentLogger, endpoints: [server.endpoint] })
  await writes(store, 64, 1_000)
  const alone = await writes(store, 1, 500)
  const many = await writes(store, 64, 8_000)
  bench.report({
    case: 'etcd: 64 writers, same disk',
    figure: many.perSecond,
    unit: 'durable writes/s',
    comparedWith: 'store: 64 writers',
    ratio: many.perSecond / oursPerSecond,
  })
  bench.report({
    case: 'etcd: 1 writer, median latency',
    figure: alone.medianMs,
    unit: 'ms',
    comparedWith: 'store: 1 writer',
    ratio: alone.medianMs / oursMs,
  })
}

/** From the moment the commit is known here to each of 1,000 watchers having it. */
async function watchLatency(bench: Bench, open: (name: string) => Promise<Store>): Promise<void> {
  await using store = await open('watch')
  const latencies: number[] = []
  let committed = 0
  const key = '/registry/pods/default/watched'
  // The watch of the very key is served first.
  store.watch({
    key,
    onEvents() {
      committed = performance.now()
    },
  })
  for (let index = 0; index < 1_000; index++) {
    store.watch({ prefix: '/registry/pods/default/', onEvents: () => latencies.push(performance.now() - committed) })
  }
  for (let index = 0; index < 300; index++) await store.txn({ success: [{ put: { key, value } }] })
  bench.report({ case: 'store: commit to watcher, 1,000 watchers, median', figure: median(latencies), unit: 'ms' })
}

async function opening(bench: Bench, directory: string, open: (name: string) => Promise<Store>): Promise<void> {
  const full = await open('open')
  const keys = Array.from({ length: objects }, (_, index) => `/registry/pods/namespace-${index % 97}/pod-${index}`)
  await Promise.all(keys.map((key) => full.txn({ success: [{ put: { key, value } }] })))
  await full.close()
  // In fresh processes, as it is when a cluster starts.
  const times = Array.from({ length: 3 }, () => {
    const { stdout } = spawnSync(process.execPath, [join(import.meta.dirname, 'store-opening.ts'), join(directory, 'open')], {
      encoding: 'utf8',
    })
    return Number(stdout)
  })
  bench.report({ case: 'store: opening 100,000 objects', figure: median(times) / 1000, unit: 's' })
}

async function ranging(bench: Bench): Promise<void> {
  await using store = new MemoryStore({ clock: systemClock })
  for (let index = 0; index < objects; index++) {
    await store.txn({ success: [{ put: { key: `/registry/pods/namespace-${index % 97}/pod-${index}`, value } }] })
  }
  const times: number[] = []
  for (let round = 0; round < 20; round++) {
    const from = performance.now()
    await store.range({ prefix: '/registry/' })
    times.push(performance.now() - from)
  }
  bench.report({ case: 'store: range over 100,000 keys', figure: (objects / median(times)) * 1000, unit: 'keys/s' })
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? 0
}
