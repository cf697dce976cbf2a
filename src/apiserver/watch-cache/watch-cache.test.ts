import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { CachedObject, sharedObjects, withResourceVersion } from '#apiserver/watch-cache/cached-object.ts'
import { type Change, ResourceExpired } from '#apiserver/watch-cache/change-window.ts'
import { ObjectIndex } from '#apiserver/watch-cache/object-index.ts'
import { WatchCache } from '#apiserver/watch-cache/watch-cache.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'

beforeEach(() => {
  sharedObjects.areFrozen = true
})
afterEach(() => {
  sharedObjects.areFrozen = false
})

const prefix = '/registry/configmaps/'

function bytes(namespace: string, name: string, data = ''): Uint8Array {
  return Buffer.from(
    JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, namespace, labels: { data } }, data: { data } }),
  )
}

async function setUp(maxChanges?: number) {
  const clock = new VirtualClock()
  const store = new MemoryStore({ clock })
  const put = (namespace: string, name: string, data?: string) =>
    store.txn({ success: [{ put: { key: `${prefix}${namespace}/${name}`, value: bytes(namespace, name, data) } }] })
  const remove = (namespace: string, name: string) => store.txn({ success: [{ delete: { key: `${prefix}${namespace}/${name}` } }] })
  await put('a', 'early')
  const cache = new WatchCache({ store, clock, prefix, isNamespaced: true, ...omitEmpty({ maxChanges }) })
  await cache.start()
  const seen: string[] = []
  const record = {
    onChange: ({ type, object, revision }: Change) => seen.push(`${type} ${object.namespace}/${object.name} ${revision}`),
    onEnd: () => seen.push('end'),
  }
  return { clock, store, put, remove, cache, seen, record }
}

test('[WC1] the cache begins with what is stored and holds a write as soon as it is acknowledged', async () => {
  const { cache, put, store } = await setUp()
  assert.equal(cache.get(`${prefix}a/early`)?.object.metadata?.name, 'early')
  await put('b', 'late')
  assert.equal(cache.get(`${prefix}b/late`)?.revision, store.revision)
  assert.equal(await cache.fresh(), store.revision)
  await store.close()
})

test('[WC2] a watch sees every change once, in order, and a deletion with the last state under its own revision', async () => {
  const { cache, put, remove, seen, record, store } = await setUp()
  const start = cache.revision
  using _watch = cache.watch(start, record)
  await put('a', 'x', '1')
  await put('a', 'x', '2')
  await remove('a', 'x')
  assert.deepEqual(seen, [`ADDED a/x ${start + 1}`, `MODIFIED a/x ${start + 2}`, `DELETED a/x ${start + 3}`])
  await store.close()
})

test('[WC3] a watch from the past gets what it missed, then what comes', async () => {
  const { cache, put, seen, record, store } = await setUp()
  const start = cache.revision
  await put('a', 'x')
  await put('a', 'y')
  using _watch = cache.watch(start + 1, record)
  await put('a', 'z')
  assert.deepEqual(seen, [`ADDED a/y ${start + 2}`, `ADDED a/z ${start + 3}`])
  await store.close()
})

test('[WC4] a watch from before the window is told so', async () => {
  const { cache, put, record, store } = await setUp(128)
  const start = cache.revision
  for (let index = 0; index < 200; index++) await put('a', `x${index}`)
  assert.throws(() => cache.watch(start, record), ResourceExpired)
  assert.throws(() => cache.watch(0, record), /too old resource version: 0 \(/)
  cache.watch(cache.revision - 100, record)[Symbol.dispose]()
  cache.forgetHistory()
  assert.throws(() => cache.watch(cache.revision - 1, record), ResourceExpired)
  await store.close()
})

test('[WC4] changes that are too old are let go though nothing new comes, but for the last of them', async () => {
  const { cache, clock, put, store } = await setUp()
  const start = cache.revision
  for (let index = 0; index < 300; index++) await put('a', `x${index}`)
  await clock.advance(299_000)
  assert.equal(cache.changesAfter(start, 1000).length, 300)
  await clock.advance(61_000)
  assert.throws(() => cache.changesAfter(start, 1000), ResourceExpired)
  assert.equal(cache.changesAfter(start + 201, 1000).length, 99)
  cache.stop()
  await store.close()
})

test('[WC4] of large changes that are too old only a mebibyte is kept, and a watch from now on misses nothing', async () => {
  const { cache, clock, put, record, seen, store } = await setUp()
  const start = cache.revision
  const large = 'x'.repeat(100_000)
  for (let index = 0; index < 50; index++) await put('a', `x${index}`, large)
  await clock.advance(299_000)
  assert.equal(cache.changesAfter(start, 1000).length, 50)
  await clock.advance(61_000)
  assert.throws(() => cache.changesAfter(start, 1000), ResourceExpired)
  const kept = cache.changesAfter(cache.revision - 5, 1000)
  assert.equal(kept.length, 5)
  using _ = cache.watch(cache.revision, record)
  await put('a', 'later')
  assert.deepEqual(seen, [`ADDED a/later ${cache.revision}`])
  cache.stop()
  await store.close()
})

test('[WC5] a stopped watch sees nothing more; a stopped cache ends its watches', async () => {
  const { cache, put, seen, record, store } = await setUp()
  const watch = cache.watch(cache.revision, record)
  watch[Symbol.dispose]()
  await put('a', 'x')
  assert.deepEqual(seen, [])
  cache.watch(cache.revision, record)
  cache.stop()
  assert.deepEqual(seen, ['end'])
  await store.close()
})

test('[WC6] waiting for a revision ends when it is there', async () => {
  const { cache, put, store } = await setUp()
  const later = cache.reached(cache.revision + 1)
  await put('a', 'x')
  await later
  await cache.reached(1)
  await store.close()
})

test('[WC7] what is handed out is shared and cannot be changed', async () => {
  const { cache, store } = await setUp()
  const object = cache.get(`${prefix}a/early`)?.object
  assert.ok(object)
  assert.equal(cache.get(`${prefix}a/early`)?.object, object)
  assert.throws(() => {
    object.metadata = {}
  }, TypeError)
  await store.close()
})

test('[WC8] the revision is put into the metadata, whether or not it has other fields', () => {
  const parse = (value: Uint8Array, revision: number) => JSON.parse(String(withResourceVersion(value, revision)))
  assert.deepEqual(parse(Buffer.from('{"kind":"A","apiVersion":"v1","metadata":{}}'), 7).metadata, { resourceVersion: '7' })
  const nested = Buffer.from('{"kind":"A","apiVersion":"v1","metadata":{"name":"x"},"spec":{"template":{"metadata":{"name":"y"}}}}')
  assert.deepEqual(parse(nested, 8), {
    kind: 'A',
    apiVersion: 'v1',
    metadata: { resourceVersion: '8', name: 'x' },
    spec: { template: { metadata: { name: 'y' } } },
  })
  assert.equal(parse(nested, 0).metadata.resourceVersion, undefined)
})

test('[WC9] an index keeps its objects in the order of their keys, whatever happens to them', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seededRandom(seed)
    const index = new ObjectIndex()
    const model = new Map<string, CachedObject>()
    for (let step = 0; step < 300; step++) {
      const namespace = ['a', 'a-b', 'b', 'c'][random.int(4)] as string
      const name = `n${random.int(20)}`
      const key = `${prefix}${namespace}/${name}`
      if (random.float() < 0.6) {
        const object = new CachedObject(key, namespace, name, step + 1, bytes(namespace, name))
        assert.equal(index.set(object), model.get(key), `seed ${seed}`)
        model.set(key, object)
      } else {
        assert.equal(index.delete(key), model.get(key), `seed ${seed}`)
        model.delete(key)
      }
    }
    const sorted = [...model.values()].sort((left, right) => (left.key < right.key ? -1 : 1))
    assert.deepEqual(
      index.list('').map(({ key }) => key),
      sorted.map(({ key }) => key),
      `seed ${seed}`,
    )
    assert.deepEqual(
      index.list('a-b').map(({ name }) => name),
      sorted.filter(({ namespace }) => namespace === 'a-b').map(({ name }) => name),
    )
    assert.equal(index.size, model.size)
  }
})

test('whoever gives up waiting for a revision is forgotten', async () => {
  const { cache, put, store } = await setUp()
  const patience = new AbortController()
  const never = Array.from({ length: 10 }, () => cache.reached(cache.revision + 1000, patience.signal))
  const soon = cache.reached(cache.revision + 1, patience.signal)
  await Promise.resolve()
  await put('a', 'x')
  await soon
  assert.equal(cache.waiting, 10)
  patience.abort(new Error('enough'))
  for (const each of await Promise.allSettled(never)) assert.equal(each.status, 'rejected')
  assert.equal(cache.waiting, 0)
  await assert.rejects(cache.reached(cache.revision + 1000, patience.signal), /enough/)
  assert.equal(cache.waiting, 0)
  await store.close()
})
