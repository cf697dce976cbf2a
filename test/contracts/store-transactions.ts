import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Compare, CompareOp } from '#store/store.ts'
import { get, put, putting, remove, type StoreBackend, stored, text, watched } from './store.ts'

export function describeStoreTransactions({ open }: StoreBackend): void {
  test('[ST1] every transaction that changes something gets the next revision, and one that does not leaves it', async () => {
    await using opened = await open()
    const { store } = opened
    const first = (await put(store, '/a', '1')).revision
    assert.equal((await put(store, '/a', '2')).revision, first + 1)
    assert.equal((await remove(store, '/nothing')).revision, first + 1)
    assert.equal((await store.txn({ success: [] })).revision, first + 1)
    assert.equal((await remove(store, '/a')).revision, first + 2)
    assert.equal(store.revision, first + 2)
  })

  test('[ST2] a transaction is done whole, at one revision, and seen whole', async () => {
    await using opened = await open()
    const { store } = opened
    const before = (await put(store, '/old', 'x')).revision
    await using seen = disposable(watched(store, { prefix: '/' }))
    const { revision, results, succeeded } = await store.txn({
      success: [putting('/a', '1'), putting('/b', '2'), { delete: { key: '/old' } }, { range: { prefix: '/' } }],
    })
    assert.equal(succeeded, true)
    assert.equal(revision, before + 1)
    const [a, b] = [await get(store, '/a'), await get(store, '/b')]
    assert.deepEqual([a?.modRevision, b?.modRevision, await get(store, '/old')], [revision, revision, undefined])
    // A read in a transaction sees what the transaction did before it.
    const last = results[3]
    assert.ok(last && 'range' in last)
    assert.deepEqual(
      last.range.kvs.map((kv) => kv.key),
      ['/a', '/b'],
    )
    await seen.until(() => seen.events.length >= 3)
    assert.equal(seen.batches.length, 1)
    assert.equal(seen.batches[0]?.revision, revision)
  })

  test('[ST2] a transaction that is refused does none of its operations', async () => {
    await using opened = await open()
    const { store } = opened
    const { revision } = await put(store, '/a', '1')
    await assert.rejects(store.txn({ success: [putting('/a', '2'), putting('/b', '2', 4711n)] }), { name: 'LeaseNotFoundError' })
    assert.equal(await stored(store, '/a'), '1')
    assert.equal(await get(store, '/b'), undefined)
    assert.equal((await put(store, '/c', '1')).revision, revision + 1)
  })

  test('[ST3] comparisons decide between success and failure', async () => {
    await using opened = await open()
    const { store } = opened
    const lease = await store.grantLease(100)
    const created = (await put(store, '/a', 'm', lease.id)).revision
    const modified = (await put(store, '/a', 'm', lease.id)).revision
    await put(store, '/gone', '1')
    await remove(store, '/gone')
    const on = (key: string, target: 'version' | 'createRevision' | 'modRevision', op: CompareOp, value: number): Compare => ({
      key,
      target,
      op,
      value,
    })
    const value = (key: string, op: CompareOp, than: string): Compare => ({ key, target: 'value', op, value: Buffer.from(than) })
    const cases: [Compare, boolean][] = [
      [on('/a', 'version', '=', 2), true],
      [on('/a', 'version', '!=', 2), false],
      [on('/a', 'version', '<', 2), false],
      [on('/a', 'version', '>', 1), true],
      [on('/a', 'createRevision', '=', created), true],
      [on('/a', 'createRevision', '=', modified), false],
      [on('/a', 'modRevision', '=', modified), true],
      [on('/a', 'modRevision', '<', modified), false],
      [value('/a', '=', 'm'), true],
      [value('/a', '<', 'n'), true],
      [value('/a', '>', 'ma'), false],
      [value('/a', '!=', 'n'), true],
      [{ key: '/a', target: 'lease', op: '=', value: lease.id }, true],
      [{ key: '/a', target: 'lease', op: '=', value: 0n }, false],
      // A key that is not there, or not any more, has zeros and no value.
      [on('/gone', 'modRevision', '=', 0), true],
      [on('/gone', 'version', '=', 0), true],
      [on('/gone', 'createRevision', '>', 0), false],
      [on('/none', 'modRevision', '=', 0), true],
      [value('/none', '=', ''), false],
      [value('/gone', '=', '1'), false],
      [value('/none', '!=', 'x'), false],
    ]
    for (const [compare, expected] of cases) {
      const { succeeded } = await store.txn({ compare: [compare], success: [], failure: [] })
      const { key, target, op } = compare
      assert.equal(succeeded, expected, `${key} ${target} ${op} ${compare.value}`)
    }
    const { succeeded, results } = await store.txn({
      compare: [on('/a', 'version', '=', 2), on('/a', 'modRevision', '=', 1)],
      success: [putting('/a', 'no')],
      failure: [{ range: { key: '/a' } }],
    })
    assert.equal(succeeded, false)
    assert.ok(results[0] && 'range' in results[0])
    assert.equal(text(results[0].range.kvs[0]?.value ?? Buffer.of()), 'm')
  })

  test('[ST4] a key counts its versions from its creation, and starts again after a deletion', async () => {
    await using opened = await open()
    const { store } = opened
    const { revision } = await put(store, '/a', '1')
    await put(store, '/a', '2')
    const replaced = await put(store, '/a', '3')
    assert.ok(replaced.results[0] && 'put' in replaced.results[0])
    assert.equal(text(replaced.results[0].put.prev?.value ?? Buffer.of()), '2')
    const kv = await get(store, '/a')
    assert.deepEqual([kv?.createRevision, kv?.modRevision, kv?.version], [revision, revision + 2, 3])
    const deletion = await remove(store, '/a')
    assert.ok(deletion.results[0] && 'delete' in deletion.results[0])
    assert.equal(deletion.results[0].delete.deleted, 1)
    assert.equal(text(deletion.results[0].delete.prev[0]?.value ?? Buffer.of()), '3')
    await put(store, '/a', '4')
    const again = await get(store, '/a')
    assert.deepEqual([again?.createRevision, again?.modRevision, again?.version], [revision + 4, revision + 4, 1])
  })

  test('[ST12] of many writers that compare and swap one key, exactly one wins each round', async () => {
    await using opened = await open()
    const { store } = opened
    for (let round = 0; round < 5; round++) {
      const at = (await get(store, '/contended'))?.modRevision ?? 0
      const attempts = await Promise.all(
        Array.from({ length: 20 }, (_, writer) =>
          store.txn({
            compare: [{ key: '/contended', target: 'modRevision', op: '=', value: at }],
            success: [putting('/contended', `${round}/${writer}`)],
            failure: [{ range: { key: '/contended' } }],
          }),
        ),
      )
      const winners = attempts.filter(({ succeeded }) => succeeded)
      assert.equal(winners.length, 1)
      const kv = await get(store, '/contended')
      assert.equal(kv?.modRevision, winners[0]?.revision)
      assert.equal(kv?.version, round + 1)
      // Those who lost were shown the winner's value.
      for (const { results } of attempts.filter(({ succeeded }) => !succeeded)) {
        assert.ok(results[0] && 'range' in results[0])
        assert.equal(text(results[0].range.kvs[0]?.value ?? Buffer.of()), text(kv?.value ?? Buffer.of()))
      }
    }
  })

  test('[ST15] an acknowledged write is read at once, and its revision is never above the store’s', async () => {
    await using opened = await open()
    const { store } = opened
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const { revision } = await put(store, `/k${index}`, String(index))
        assert.ok(store.revision >= revision)
        const read = await store.range({ key: `/k${index}` })
        assert.equal(text(read.kvs[0]?.value ?? Buffer.of()), String(index))
        assert.ok(read.revision >= revision)
      }),
    )
  })

  test('[ST13] bad transactions have errors of their own and change nothing', async () => {
    await using opened = await open()
    const { store } = opened
    const { revision } = await put(store, '/a', '1')
    const tooLarge = { put: { key: '/big', value: new Uint8Array(1.5 * 1024 * 1024 + 1) } }
    const cases: [string, Parameters<typeof store.txn>[0]][] = [
      ['EmptyKeyError', { success: [putting('', 'x')] }],
      ['EmptyKeyError', { success: [{ delete: { key: '' } }] }],
      ['EmptyKeyError', { compare: [{ key: '', target: 'version', op: '=', value: 0 }], success: [] }],
      ['InvalidKeyError', { success: [putting('/\ud800', 'x')] }],
      ['ValueTooLargeError', { success: [tooLarge] }],
      ['ValueTooLargeError', { success: [], failure: [tooLarge] }],
      ['DuplicateKeyError', { success: [putting('/a', '1'), putting('/a', '2')] }],
      ['DuplicateKeyError', { success: [putting('/a', '1'), { delete: { prefix: '/' } }] }],
      ['LeaseNotFoundError', { success: [putting('/a', '1', 99n)] }],
      ['FutureRevisionError', { success: [{ range: { key: '/a', revision: revision + 1000 } }] }],
    ]
    for (const [name, transaction] of cases) await assert.rejects(store.txn(transaction), { name })
    assert.equal(await stored(store, '/a'), '1')
    assert.equal((await put(store, '/b', '1')).revision, revision + 1)
  })

  test('[ST13] a value of exactly the limit less etcd’s envelope is kept whole', async () => {
    await using opened = await open()
    const { store } = opened
    const value = new Uint8Array(1_500_000).fill(7)
    await store.txn({ success: [{ put: { key: '/big', value } }] })
    assert.equal(Buffer.compare((await get(store, '/big'))?.value ?? Buffer.of(), value), 0)
  })
}

function disposable<T extends { cancel(): void }>(watch: T): T & AsyncDisposable {
  return Object.assign(watch, { [Symbol.asyncDispose]: async () => watch.cancel() })
}
