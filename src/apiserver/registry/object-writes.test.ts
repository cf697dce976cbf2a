import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#api/resource.ts'
import { LostRace, ObjectWrites } from '#apiserver/registry/object-writes.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { WatchCache } from '#apiserver/watch-cache/watch-cache.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { EmbeddedStore } from '#store/embedded/embedded-store.ts'
import type { Journal, JournalListener } from '#store/embedded/journal.ts'
import { StoreUnavailableError } from '#store/store.ts'

/** A disk that takes its time: commits are durable, or refused, when the test says so. */
class SlowDisk implements Journal {
  waiting = 0
  #listener: JournalListener | undefined
  start(listener: JournalListener): void {
    this.#listener = listener
  }
  append(): void {
    this.waiting++
  }
  settle(count = this.waiting): void {
    this.waiting -= count
    this.#listener?.onSettled(count)
  }
  refuse(): void {
    this.waiting = 0
    this.#listener?.onRefused(0, new Error('the disk is full'))
  }
  forget(): void {}
  size = async () => ({ totalBytes: 0, usedBytes: 0 })
  close = async () => {}
}

class SlowStore extends EmbeddedStore {
  constructor(clock: VirtualClock, disk: Journal) {
    super({ clock }, disk)
  }
}

const key = '/registry/configmaps/a/hot'

async function setUp() {
  const clock = new VirtualClock()
  const disk = new SlowDisk()
  const store = new SlowStore(clock, disk)
  const cache = new WatchCache({ store, clock, prefix: '/registry/configmaps/', isNamespaced: true })
  await cache.start()
  const writes = new ObjectWrites({ cache, store, clock })
  const write = (data: Record<string, string>, prev: CachedObject | undefined, pass = () => {}) => {
    const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'hot', namespace: 'a' }, data } as KubernetesObject
    const value = Buffer.from(JSON.stringify(object))
    return writes.put(key, { namespace: 'a', name: 'hot', value, stored: value, parsed: object }, prev, undefined, pass)
  }
  const add = (name: string) =>
    writes.inTurn(key, async (pass) => {
      const prev = await writes.newest(key)
      // Admission takes a few turns.
      for (let turn = 0; turn < 3; turn++) await undefined
      return write({ ...dataOf(prev), [name]: 'yes' }, prev, pass)
    })
  const rest = async () => {
    for (let turn = 0; turn < 2000; turn++) await undefined
  }
  return { clock, disk, store, cache, writes, write, add, rest }
}

function dataOf(cached: CachedObject | undefined): Record<string, string> {
  return (cached?.object as { data?: Record<string, string> } | undefined)?.data ?? {}
}

test('many writers of one object build on each other without waiting for the disk, and none is lost', async () => {
  const { disk, cache, add, rest } = await setUp()
  const names = Array.from({ length: 40 }, (_, index) => `writer-${index}`)
  const written = names.map(add)
  await rest()
  assert.equal(disk.waiting, names.length, 'all of them are under way at once')
  assert.equal(cache.get(key), undefined, 'and nobody sees any of them')
  disk.settle()
  const revisions = (await Promise.all(written)).map(({ revision }) => revision)
  assert.deepEqual(
    revisions,
    [...revisions].sort((left, right) => left - right),
  )
  assert.equal(new Set(revisions).size, names.length)
  assert.deepEqual(Object.keys(dataOf(cache.get(key))), names)
})

test('when the disk refuses a write, those that were built on it are refused as well, and the next builds on what is there', async () => {
  const { disk, cache, add, rest } = await setUp()
  const first = add('first')
  await rest()
  disk.settle()
  await first
  const refused = ['second', 'third'].map((name) => assert.rejects(add(name), StoreUnavailableError))
  await rest()
  assert.equal(disk.waiting, 2)
  disk.refuse()
  await Promise.all(refused)
  const fourth = add('fourth')
  await rest()
  disk.settle()
  await fourth
  assert.deepEqual(Object.keys(dataOf(cache.get(key))), ['first', 'fourth'])
})

test('after a deletion that is under way there is nothing to build on', async () => {
  const { disk, writes, add, rest } = await setUp()
  const made = add('first')
  await rest()
  disk.settle()
  const object = await made
  const removed = writes.remove(object, () => {})
  assert.equal(await writes.newest(key), undefined)
  disk.settle()
  assert.equal(await removed, object.revision + 1)
})

test('a writer that saw an older state loses', async () => {
  const { disk, write, add, rest } = await setUp()
  const made = add('first')
  await rest()
  disk.settle()
  const object = await made
  const second = add('second')
  await rest()
  const stale = assert.rejects(write({}, object), LostRace)
  disk.settle()
  await Promise.all([second, stale])
})

test('who is refused by a state that is under way hears of it when others can read that state', async () => {
  const { disk, cache, writes, add, rest } = await setUp()
  const first = add('first')
  await rest()
  let isAnswered = false
  const second = writes.inTurn(key, async () => {
    const newest = await writes.newest(key)
    throw new LostRace(`not ${newest?.revision}`)
  })
  const refused = assert.rejects(second, LostRace).then(() => {
    isAnswered = true
    assert.deepEqual(Object.keys(dataOf(cache.get(key))), ['first'])
  })
  await rest()
  assert.equal(isAnswered, false)
  disk.settle()
  await Promise.all([first, refused])
})

test('who changes nothing is not told so on the strength of a write that fails', async () => {
  const { disk, writes, add, rest } = await setUp()
  const first = assert.rejects(add('first'), StoreUnavailableError)
  await rest()
  const same = assert.rejects(
    writes.inTurn(key, () => writes.newest(key)),
    StoreUnavailableError,
  )
  await rest()
  disk.refuse()
  await Promise.all([first, same])
})

test('a writer waits for one before it, but not for ever', async () => {
  const { clock, writes, rest } = await setUp()
  const held = Promise.withResolvers<void>()
  const first = writes.inTurn(key, () => held.promise)
  let hasRun = false
  const second = writes.inTurn(key, async () => {
    hasRun = true
  })
  await rest()
  assert.equal(hasRun, false)
  await clock.advance(300)
  assert.equal(hasRun, true)
  held.resolve()
  await Promise.all([first, second])
})
