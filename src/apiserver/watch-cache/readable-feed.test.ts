import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnreadableValue, type ValueTransformer } from '#apiserver/encryption/transformer.ts'
import { WatchCache } from '#apiserver/watch-cache/watch-cache.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'

const prefix = '/registry/secrets/'
const encode = (name: string) => Buffer.from(JSON.stringify({ kind: 'Secret', apiVersion: 'v1', metadata: { name, namespace: 'a' } }))

/** A key service: values are stored backwards, and read back when the test says so. */
function keyService(): ValueTransformer & { answer(name: string): void; fail: string | undefined; isSlow: boolean } {
  const waiting = new Map<string, () => void>()
  return {
    fail: undefined,
    isSlow: false,
    toStorage: (bytes) => Buffer.from(bytes).reverse(),
    fromStorage(bytes, key) {
      if (this.fail === key) throw new Error('no key fits')
      const read = { bytes: Buffer.from(bytes).reverse(), isStale: false }
      if (!this.isSlow) return read
      return new Promise((resolve) => waiting.set(key.slice(key.lastIndexOf('/') + 1), () => resolve(read)))
    },
    answer: (name) => waiting.get(name)?.(),
  }
}

async function setUp() {
  const clock = new VirtualClock()
  const store = new MemoryStore({ clock })
  const transformer = keyService()
  const put = async (name: string) => {
    const value = await transformer.toStorage(encode(name), '')
    await store.txn({ success: [{ put: { key: `${prefix}a/${name}`, value } }] })
  }
  await put('early')
  const cache = new WatchCache({ store, clock, prefix, isNamespaced: true, transformer })
  await cache.start()
  const seen: string[] = []
  cache.watch(cache.revision, { onChange: ({ type, object }) => seen.push(`${type} ${object.object.metadata?.name}`), onEnd() {} })
  return { clock, store, transformer, put, cache, seen }
}

test('[WC1] values that can be read at once are there as soon as the write is acknowledged', async () => {
  const { cache, put, seen } = await setUp()
  assert.equal(cache.get(`${prefix}a/early`)?.object.metadata?.name, 'early')
  await put('late')
  assert.deepEqual(seen, ['ADDED late'])
})

test('[WC10] values that have to be waited for keep their order, and readers wait for them', async () => {
  const { cache, put, seen, transformer, store } = await setUp()
  transformer.isSlow = true
  await put('first')
  await put('second')
  await store.txn({ success: [{ delete: { key: `${prefix}a/early` } }] })
  transformer.isSlow = false
  await put('third')
  let isFresh = false
  const fresh = cache.fresh().then(() => {
    isFresh = true
  })
  transformer.answer('second')
  await Promise.resolve()
  assert.deepEqual([seen, isFresh], [[], false])
  transformer.answer('first')
  await fresh
  assert.deepEqual(seen, ['ADDED first', 'ADDED second', 'DELETED early', 'ADDED third'])
  assert.equal(await cache.fresh(), store.revision)
})

test('[WC11] a change that cannot be read is tried again; meanwhile readers learn why', async () => {
  const { cache, clock, put, seen, transformer } = await setUp()
  transformer.fail = `${prefix}a/bad`
  await put('bad')
  await put('good')
  await assert.rejects(cache.fresh(), new UnreadableValue(`${prefix}a/bad`, 'no key fits'))
  assert.deepEqual(seen, [])
  transformer.fail = undefined
  await clock.advance({ seconds: 1 })
  await clock.settle()
  await cache.fresh()
  assert.deepEqual(seen, ['ADDED bad', 'ADDED good'])
})

test('[WC11] a cache does not start over values that cannot be read', async () => {
  const { store, clock, transformer } = await setUp()
  transformer.fail = `${prefix}a/early`
  const cache = new WatchCache({ store, clock, prefix, isNamespaced: true, transformer })
  await assert.rejects(cache.start(), /unable to transform key "\/registry\/secrets\/a\/early": no key fits/)
})
