import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import type { Operation, StoreEvent } from '#store/store.ts'
import { get, put, putting, remove, type StoreBackend, shown, stored, text, watchError, watched } from './store.ts'

export function describeStoreWatches({ open }: StoreBackend): void {
  test('[ST7] a watch from now tells every change of its range, in order, with the value before', async () => {
    await using opened = await open()
    const { store } = opened
    const { revision } = await put(store, '/w/a', '0')
    const seen = watched(store, { prefix: '/w/' })
    assert.equal(seen.events.length, 0)
    await put(store, '/w/a', '1')
    await put(store, '/other', 'x')
    await put(store, '/w/b', '2')
    await remove(store, '/w/a')
    await seen.progress()
    assert.deepEqual(shown(seen.events), [`${revision + 1} /w/a=1`, `${revision + 3} /w/b=2`, `${revision + 4} -/w/a`])
    assert.deepEqual(
      seen.events.map(({ prev }) => prev && text(prev.value)),
      ['0', undefined, '1'],
    )
    const [changed, , deleted] = seen.events
    assert.deepEqual([changed?.kv.version, changed?.kv.createRevision], [2, revision])
    assert.deepEqual([deleted?.kv.version, deleted?.kv.createRevision, deleted?.kv.value.length], [0, 0, 0])
    seen.cancel()
    await put(store, '/w/a', '3')
    assert.equal(seen.events.length, 3)
  })

  test('[ST7] a watch from a past revision starts there and goes on into the present', async () => {
    await using opened = await open()
    const { store } = opened
    const first = (await put(store, '/w/a', '1')).revision
    await put(store, '/w/b', '2')
    await remove(store, '/w/a')
    const whole = watched(store, { prefix: '/w/', fromRevision: first })
    const part = watched(store, { key: '/w/a', fromRevision: first + 1 })
    const next = watched(store, { prefix: '/w/', fromRevision: store.revision + 1 })
    assert.equal(whole.events.length, 0, 'nothing is delivered before watch has returned')
    await put(store, '/w/a', '3')
    for (const watch of [whole, part, next]) await watch.progress()
    assert.deepEqual(shown(whole.events), [`${first} /w/a=1`, `${first + 1} /w/b=2`, `${first + 2} -/w/a`, `${first + 3} /w/a=3`])
    assert.deepEqual(shown(part.events), [`${first + 2} -/w/a`, `${first + 3} /w/a=3`])
    assert.deepEqual(shown(next.events), [`${first + 3} /w/a=3`])
  })

  test('[ST7] ranges of every shape are watched', async () => {
    await using opened = await open()
    const { store } = opened
    const cases = [
      { range: { prefix: '' }, keys: ['/a', '/a/1', '/ab', '/b', '/b/x/y'] },
      { range: { prefix: '/a' }, keys: ['/a', '/a/1', '/ab'] },
      { range: { prefix: '/a/' }, keys: ['/a/1'] },
      { range: { key: '/a' }, keys: ['/a'] },
      { range: { key: '/ab', end: '/b/' }, keys: ['/ab', '/b'] },
      { range: { key: '/b', end: '\0' }, keys: ['/b', '/b/x/y'] },
    ]
    const watches = cases.map(({ range, keys }) => ({ keys, range, watch: watched(store, range) }))
    for (const key of ['/a', '/a/1', '/ab', '/b', '/b/x/y']) await put(store, key, '1')
    for (const { watch, keys, range } of watches) {
      await watch.progress()
      assert.deepEqual(
        watch.events.map(({ kv }) => kv.key),
        keys,
        JSON.stringify(range),
      )
    }
  })

  test('[ST7] whatever happens, every watch sees every change once and in order', async () => {
    await using opened = await open()
    const { store } = opened
    const seed = 20260101
    const random = seededRandom(seed)
    const start = store.revision + 1
    const watches = [watched(store, { prefix: '/m/' })]
    const writes: Promise<unknown>[] = []
    for (let step = 0; step < 200; step++) {
      const keys = new Set(Array.from({ length: 1 + random.int(3) }, () => `/m/${random.int(12)}`))
      const operations = [...keys].map((key): Operation => (random.int(3) === 0 ? { delete: { key } } : putting(key, String(step))))
      writes.push(store.txn({ success: operations }))
      if (random.int(8) === 0) await Promise.all(writes)
      if (random.int(20) === 0)
        watches.push(watched(store, { prefix: '/m/', fromRevision: start + random.int(store.revision - start + 2) }))
    }
    await Promise.all(writes)
    for (const watch of watches) await watch.progress()
    const [whole = watches[0], ...later] = watches
    assert.ok(whole)
    const revisions = whole.batches.map(({ revision }) => revision)
    assert.deepEqual(
      revisions,
      Array.from({ length: store.revision - start + 1 }, (_, index) => start + index),
      `seed ${seed}`,
    )
    // Every later watch saw a tail of what the first one saw.
    const all = shown(whole.events)
    for (const watch of later) assert.deepEqual(shown(watch.events), all.slice(all.length - watch.events.length), `seed ${seed}`)
    // What the events add up to is what is read, at the end and at some revisions between.
    for (const at of [store.revision, start + 20, start + 77]) {
      const { kvs } = await store.range({ prefix: '/m/', revision: at })
      assert.deepEqual(
        Object.fromEntries(kvs.map((kv) => [kv.key, text(kv.value)])),
        stateAt(whole.events, at),
        `seed ${seed}, revision ${at}`,
      )
    }
  })

  test('[ST8] a watch from a compacted or a future revision is refused', async () => {
    await using opened = await open()
    const { store } = opened
    await put(store, '/a', '1')
    const { revision } = await put(store, '/a', '2')
    await put(store, '/a', '3')
    await store.compact(revision)
    const compacted = await watchError(store, { prefix: '/', fromRevision: revision - 1 })
    assert.equal(compacted.name, 'CompactedError')
    assert.ok('compactedRevision' in compacted && compacted.compactedRevision === revision)
    assert.equal((await watchError(store, { prefix: '/', fromRevision: store.revision + 100 })).name, 'FutureRevisionError')
    const allowed = watched(store, { prefix: '/', fromRevision: revision + 1 })
    await allowed.progress()
    assert.deepEqual(shown(allowed.events), [`${revision + 1} /a=3`])
  })

  test('[ST7] a receiver may write and watch; the order stays', async () => {
    await using opened = await open()
    const { store } = opened
    const answers: Promise<unknown>[] = []
    const nested: StoreEvent[] = []
    store.watch({
      key: '/ping',
      onEvents() {
        store.watch({ prefix: '/', onEvents: (events) => nested.push(...events) })
        answers.push(put(store, '/pong', '1'))
      },
    })
    const order = watched(store, { prefix: '/p' })
    const { revision } = await put(store, '/ping', '1')
    await order.until(() => order.events.length === 2)
    await Promise.all(answers)
    assert.deepEqual(shown(order.events), [`${revision} /ping=1`, `${revision + 1} /pong=1`])
    await order.progress()
    assert.deepEqual(shown(nested), [`${revision + 1} /pong=1`])
  })

  test('[ST10] progress tells a quiet watch how far it is', async () => {
    await using opened = await open()
    const { store, clock } = opened
    const revisions: number[] = []
    const arrived = Promise.withResolvers<void>()
    const quiet = watched(store, {
      prefix: '/quiet/',
      onProgress(revision) {
        revisions.push(revision)
        arrived.resolve()
      },
    })
    const { revision } = await put(store, '/loud', '1')
    assert.ok((await quiet.progress()) >= revision)
    await clock.advance({ seconds: 10 })
    await arrived.promise
    assert.ok((revisions[0] ?? 0) >= revision)
    assert.equal(quiet.events.length, 0)
    quiet.cancel()
    const count = revisions.length
    await clock.advance({ seconds: 30 })
    assert.equal(revisions.length, count)
  })

  test('[ST11] the keys of a lease go when it runs out, all at one revision', async () => {
    // Another server's time passes on its own: where it was too short for what comes before the end, it is tried again with more.
    for (let seconds = 2; !(await leaseRunsOut(seconds)); seconds *= 2) assert.ok(seconds < 100, 'the store is too slow')
  })

  async function leaseRunsOut(seconds: number): Promise<boolean> {
    await using opened = await open()
    const { store, clock } = opened
    const begunMs = performance.now()
    const short = await store.grantLease(seconds)
    const long = await store.grantLease(1000)
    assert.deepEqual([short.grantedSeconds, long.grantedSeconds], [seconds, 1000])
    const untilKept = async () => {
      await put(store, '/l/a', '1', short.id)
      await put(store, '/l/b', '1', short.id)
      await put(store, '/l/moved', '1', short.id)
      await put(store, '/l/moved', '2', long.id)
      await put(store, '/l/freed', '1', short.id)
      await put(store, '/l/freed', '2')
      assert.equal((await get(store, '/l/a'))?.lease, short.id)
      assert.deepEqual(await store.leaseKeys(short.id), ['/l/a', '/l/b'])
      const watch = watched(store, { prefix: '/l/' })
      await clock.advance({ seconds: seconds / 2 })
      await store.keepLeaseAlive(short.id)
      await clock.advance({ seconds: 0.75 * seconds })
      assert.equal(await stored(store, '/l/a'), '1')
      return watch
    }
    const seen = await untilKept().catch((error: unknown) => {
      if (performance.now() - begunMs < seconds * 900) throw error
    })
    if (seen === undefined) return false
    await clock.advance({ seconds: seconds / 2 })
    await seen.until(() => seen.events.length === 2)
    assert.deepEqual(seen.events.map(({ type, kv }) => `${type} ${kv.key}`).sort(), ['delete /l/a', 'delete /l/b'])
    assert.equal(seen.batches.length, 1)
    const left = await store.range({ prefix: '/l/' })
    assert.deepEqual(
      left.kvs.map(({ key }) => key),
      ['/l/freed', '/l/moved'],
    )
    await assert.rejects(store.keepLeaseAlive(short.id), { name: 'LeaseNotFoundError' })
    assert.deepEqual(
      (await store.leases()).map(({ id }) => id),
      [long.id],
    )
    return true
  }

  test('[ST11] leases are granted under chosen ids, told apart, and revoked with their keys', async () => {
    await using opened = await open()
    const { store } = opened
    const { id } = await store.grantLease(100, 77n)
    assert.equal(id, 77n)
    await assert.rejects(store.grantLease(100, 77n), { name: 'LeaseExistsError' })
    const other = await store.grantLease(100)
    assert.notEqual(other.id, 77n)
    await put(store, '/l/a', '1', 77n)
    await put(store, '/l/b', '1', other.id)
    const before = store.revision
    await store.revokeLease(77n)
    assert.equal(store.revision, before + 1)
    assert.deepEqual([await stored(store, '/l/a'), await stored(store, '/l/b')], [undefined, '1'])
    const onGone = [
      () => store.revokeLease(77n),
      () => store.keepLeaseAlive(77n),
      () => store.leaseKeys(77n),
      () => put(store, '/l/a', '1', 77n),
    ]
    for (const ask of onGone) await assert.rejects(ask, { name: 'LeaseNotFoundError' })
    assert.ok((await store.keepLeaseAlive(other.id)).ttlSeconds >= 99)
  })
}

function stateAt(events: StoreEvent[], revision: number): Record<string, string> {
  const state: Record<string, string> = {}
  for (const { type, kv } of events) {
    if (kv.modRevision > revision) break
    if (type === 'put') state[kv.key] = text(kv.value)
    else delete state[kv.key]
  }
  return state
}
