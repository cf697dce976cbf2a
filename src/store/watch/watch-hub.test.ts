import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import type { StoreEvent } from '#store/store.ts'

const put = (store: MemoryStore, key: string) => store.txn({ success: [{ put: { key, value: Buffer.from('1') } }] })

test('[ST7] a watch far back is served in slices, goes on into the present, and misses nothing on the way', async () => {
  const clock = new VirtualClock()
  await using store = new MemoryStore({ clock })
  for (let index = 0; index < 3500; index++) await put(store, `/k/${index}`)
  const revisions: number[] = []
  const watch = store.watch({ prefix: '/k/', fromRevision: 2, onEvents: (_, revision) => revisions.push(revision) })
  await Promise.resolve()
  assert.ok(revisions.length > 0 && revisions.length < 3500, 'it does not hold up everybody else')
  await put(store, '/k/meanwhile')
  const progress = watch.progress()
  await clock.settle()
  assert.equal(await progress, store.revision)
  await put(store, '/k/after')
  assert.deepEqual(
    revisions,
    Array.from({ length: 3502 }, (_, index) => index + 2),
  )
})

test('[ST8] a watch that is overtaken by a compaction while it catches up is ended', async () => {
  const clock = new VirtualClock()
  await using store = new MemoryStore({ clock })
  for (let index = 0; index < 2500; index++) await put(store, '/k')
  let ended: Error | undefined
  store.watch({
    key: '/k',
    fromRevision: 2,
    onEvents() {},
    onEnd(error) {
      ended = error
    },
  })
  await Promise.resolve()
  await store.compact(store.revision)
  await clock.settle()
  assert.equal(ended?.name, 'CompactedError')
})

test('[ST17] a receiver that throws loses its watch, and nobody else does', async () => {
  await using store = new MemoryStore({ clock: new VirtualClock() })
  let ended: Error | undefined
  const seen: StoreEvent[] = []
  store.watch({
    prefix: '/',
    onEvents() {
      throw new Error('the receiver is broken')
    },
    onEnd(error) {
      ended = error
    },
  })
  store.watch({ prefix: '/', onEvents: (events) => seen.push(...events) })
  await put(store, '/a')
  await put(store, '/b')
  assert.equal(ended?.message, 'the receiver is broken')
  assert.equal(seen.length, 2)
})

test('[ST17] a watch cancelled by another receiver of the same change hears nothing more', async () => {
  await using store = new MemoryStore({ clock: new VirtualClock() })
  let count = 0
  store.watch({ key: '/a', onEvents: () => second.cancel() })
  const second = store.watch({ prefix: '/', onEvents: () => count++ })
  await put(store, '/a')
  assert.equal(count, 0)
})

test('[ST18] an idle store sets no timers, and a closed one leaves none', async () => {
  const clock = new VirtualClock()
  const store = new MemoryStore({ clock })
  assert.equal(clock.pending, 0)
  const watch = store.watch({ prefix: '/', onEvents() {}, onProgress() {} })
  await store.grantLease(10)
  await put(store, '/a')
  assert.ok(clock.pending > 0)
  watch.cancel()
  await store.close()
  await clock.settle()
  assert.equal(clock.pending, 0)
})
