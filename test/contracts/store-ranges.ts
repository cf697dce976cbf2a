import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KeyRange } from '#store/store.ts'
import { get, put, putting, remove, type StoreBackend, stored, text } from './store.ts'

export function describeStoreRanges({ open }: StoreBackend): void {
  test('[ST6] a range holds its keys in the order of their bytes', async () => {
    await using opened = await open()
    const { store } = opened
    const keys = ['/b', '/a/2', '/a', '/a/1', '/a0', '/z', '/é', '/\u{1f600}', '/\uffee', '/a/10']
    const sorted = ['/a', '/a/1', '/a/10', '/a/2', '/a0', '/b', '/z', '/é', '/\uffee', '/\u{1f600}']
    for (const key of keys) await put(store, key, key)
    const cases: [KeyRange, string[]][] = [
      [{ prefix: '' }, sorted],
      [{ prefix: '/a' }, ['/a', '/a/1', '/a/10', '/a/2', '/a0']],
      [{ prefix: '/a/' }, ['/a/1', '/a/10', '/a/2']],
      [{ prefix: '/zz' }, []],
      [{ key: '/a' }, ['/a']],
      [{ key: '/nothing' }, []],
      [{ key: '/a/10', end: '/b' }, ['/a/10', '/a/2', '/a0']],
      [{ key: '/b', end: '/a' }, []],
      [{ key: '/z', end: '\0' }, ['/z', '/é', '/\uffee', '/\u{1f600}']],
      [{ key: '/\uf000', end: '/\u{1f700}' }, ['/\uffee', '/\u{1f600}']],
    ]
    for (const [range, expected] of cases) {
      const { kvs, count, more } = await store.range(range)
      assert.deepEqual(
        kvs.map(({ key }) => key),
        expected,
        JSON.stringify(range),
      )
      assert.deepEqual([count, more], [expected.length, false])
      for (const { key, value } of kvs) assert.equal(text(value), key)
    }
  })

  test('[ST6] limits, keys only and counts', async () => {
    await using opened = await open()
    const { store } = opened
    for (let index = 0; index < 10; index++) await put(store, `/k${index}`, `value ${index}`)
    await remove(store, '/k3')
    const page = await store.range({ prefix: '/k', limit: 4 })
    assert.deepEqual(
      page.kvs.map(({ key }) => key),
      ['/k0', '/k1', '/k2', '/k4'],
    )
    assert.deepEqual([page.count, page.more], [9, true])
    const exact = await store.range({ prefix: '/k', limit: 9 })
    assert.deepEqual([exact.kvs.length, exact.count, exact.more], [9, 9, false])
    const counted = await store.range({ prefix: '/k', countOnly: true })
    assert.deepEqual([counted.kvs.length, counted.count], [0, 9])
    const keys = await store.range({ prefix: '/k', keysOnly: true, limit: 1 })
    assert.deepEqual([keys.kvs[0]?.key, keys.kvs[0]?.value.length, keys.kvs[0]?.version], ['/k0', 0, 1])
    await assert.rejects(store.range({ key: '' }), { name: 'EmptyKeyError' })
  })

  test('[ST5] the past can be read as it was', async () => {
    await using opened = await open()
    const { store } = opened
    const first = (await put(store, '/a', '1')).revision
    await put(store, '/a', '2')
    await remove(store, '/a')
    await put(store, '/a', '3')
    await put(store, '/b', '1')
    const values = await Promise.all([0, 1, 2, 3, 4].map((past) => stored(store, '/a', first + past)))
    assert.deepEqual(values, ['1', '2', undefined, '3', '3'])
    const then = await store.range({ prefix: '/', revision: first + 3 })
    assert.deepEqual([then.count, then.revision], [1, first + 4])
    assert.equal((await get(store, '/a', first + 1))?.version, 2)
    await assert.rejects(store.range({ key: '/a', revision: first + 5 }), { name: 'FutureRevisionError' })
  })

  test('[ST5] pages at one revision fit together while writers go on', async () => {
    await using opened = await open()
    const { store } = opened
    const names = Array.from({ length: 95 }, (_, index) => `/p/${String(index).padStart(3, '0')}`)
    await store.txn({ success: names.map((key) => putting(key, 'then')) })
    const revision = (await put(store, '/p/000', 'then')).revision
    const read: string[] = []
    let start = '/p/'
    for (let page = 0; ; page++) {
      // Between the pages keys change, come and go, before and behind the reader.
      await store.txn({
        success: [
          putting(`/p/${String(page * 3).padStart(3, '0')}`, 'now'),
          putting(`/p/new${page}`, 'now'),
          { delete: { key: `/p/0${94 - page}` } },
        ],
      })
      const { kvs, more, count } = await store.range({ key: start, end: '/p0', limit: 10, revision })
      for (const kv of kvs) assert.equal(text(kv.value), 'then')
      assert.equal(count, names.length - read.length)
      read.push(...kvs.map(({ key }) => key))
      if (!more) break
      start = `${read.at(-1)}\0`
    }
    assert.deepEqual(read, names)
  })

  test('[ST9] compaction closes the past and keeps the newest values', async () => {
    await using opened = await open()
    const { store } = opened
    const first = (await put(store, '/a', '1')).revision
    await put(store, '/kept', 'old')
    await put(store, '/gone', 'x')
    await remove(store, '/gone')
    const compacted = (await put(store, '/a', '2')).revision
    await put(store, '/a', '3')
    await store.compact(compacted)
    assert.equal(store.compactedRevision, compacted)
    await assert.rejects(store.range({ key: '/a', revision: first }), { name: 'CompactedError' })
    await assert.rejects(store.range({ key: '/a', revision: compacted - 1 }), { name: 'CompactedError' })
    assert.equal(await stored(store, '/a', compacted), '2')
    assert.equal(await stored(store, '/kept', compacted), 'old')
    assert.equal(await stored(store, '/gone', compacted), undefined)
    assert.equal(await stored(store, '/a'), '3')
    assert.equal(await stored(store, '/kept'), 'old')
    assert.equal((await get(store, '/kept'))?.version, 1)
    await assert.rejects(store.compact(compacted), { name: 'CompactedError' })
    await assert.rejects(store.compact(compacted + 1000), { name: 'FutureRevisionError' })
    await put(store, '/gone', 'again')
    assert.equal((await get(store, '/gone'))?.version, 1)
  })
}
