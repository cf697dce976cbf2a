import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { type Logger, silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { openSqliteStore } from '#store/sqlite/sqlite-store.ts'
import type { Store } from '#store/store.ts'

/** A file system in memory of the given size, where this process may mount one. */
function smallDisk(megabytes: number) {
  const path = mkdtempSync(join(tmpdir(), 'typernetes-disk-'))
  const run = (command: string, ...args: string[]) => spawnSync(command, args).status === 0
  const isMounted = process.platform === 'linux' && run('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path)
  return {
    path,
    isMounted,
    remount: (how: 'ro' | 'rw') => run('mount', '-o', `remount,${how}`, path),
    [Symbol.dispose]() {
      if (isMounted) run('umount', '-l', path)
      rmSync(path, { recursive: true, force: true })
    },
  }
}

const noMount = 'this process may not mount a file system'
const put = (store: Store, key: string, bytes: number) => store.txn({ success: [{ put: { key, value: Buffer.alloc(bytes, key) } }] })

test('[ST23] a disk that is really full: the store refuses, loses nothing, and goes on when there is room', async (context) => {
  using disk = smallDisk(12)
  if (!disk.isMounted) return context.skip(noMount)
  const filler = join(disk.path, 'filler')
  writeFileSync(filler, Buffer.alloc(6 * 1024 * 1024))
  const clock = Object.assign(new VirtualClock(), { soon: systemClock.soon })
  const recovered = Promise.withResolvers<void>()
  const logger: Logger = { ...silentLogger, info: () => recovered.resolve() }
  const options = { dataDir: join(disk.path, 'data'), clock, logger, processId: process.pid }
  const store = await openSqliteStore(options)
  const acknowledged: string[] = []
  const failure = await (async () => {
    for (let index = 0; index < 1000; index++) {
      await put(store, `/key/${index}`, 100_000)
      acknowledged.push(`/key/${index}`)
    }
    return undefined
  })().catch((error: Error) => error)
  assert.equal(failure?.name, 'StoreUnavailableError')
  assert.match(failure?.message ?? '', /full/)
  assert.ok(acknowledged.length > 10, `${acknowledged.length} writes fitted`)
  assert.match(store.trouble?.message ?? '', /full/)
  assert.equal((await store.range({ prefix: '/key/' })).count, acknowledged.length)

  rmSync(filler)
  await clock.advance({ seconds: 1 })
  await recovered.promise
  await put(store, '/after', 100_000)
  acknowledged.push('/after')
  const { revision } = store
  await store.close()

  await using again = await openSqliteStore(options)
  assert.equal(again.revision, revision)
  const { kvs } = await again.range({ prefix: '/' })
  assert.deepEqual(kvs.map(({ key }) => key).sort(), acknowledged.sort())
  for (const { key, value } of kvs) assert.equal(Buffer.compare(value, Buffer.alloc(100_000, key)), 0, key)
})

test('[ST27] a read-only file system is refused at the start with what to do', async (context) => {
  using disk = smallDisk(4)
  if (!disk.isMounted) return context.skip(noMount)
  disk.remount('ro')
  const options = { dataDir: disk.path, clock: systemClock, logger: silentLogger, processId: process.pid }
  await assert.rejects(openSqliteStore(options), { name: 'DirectoryNotWritableError', message: /make it writable, or choose another/ })
})
