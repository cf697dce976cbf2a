import assert from 'node:assert/strict'
import { test } from 'node:test'
import { omitEmpty } from '#base/omit-empty.ts'
import { seededRandom } from '#base/random.ts'
import type { VersionedChange } from '#store/mvcc/history.ts'
import { type LeaseBook, Mvcc } from '#store/mvcc/mvcc.ts'
import type { Operation } from '#store/store.ts'

/** Which keys each lease has, as the state tells it. */
function book(): LeaseBook & { keys: Map<string, bigint> } {
  const keys = new Map<string, bigint>()
  return {
    keys,
    check() {},
    move(key, _from, to) {
      if (to === 0n) keys.delete(key)
      else keys.set(key, to)
    },
  }
}

function dump(mvcc: Mvcc, revision?: number): string[] {
  const { kvs } = mvcc.range({ prefix: '', ...omitEmpty({ revision }) })
  return kvs.map(({ value, ...kv }) => `${Object.values(kv).join(' ')} ${Buffer.from(value)}`)
}

function randomTransaction(random: ReturnType<typeof seededRandom>, step: number): { success: Operation[] } {
  const keys = new Set(Array.from({ length: 1 + random.int(3) }, () => `/${random.int(30)}`))
  const operation = (key: string): Operation =>
    random.int(3) === 0 ? { delete: { key } } : { put: { key, value: Buffer.from(String(step)), lease: BigInt(random.int(3)) } }
  return { success: [...keys].map(operation) }
}

test('[ST16] what is not durable is not seen, and when taken back leaves no trace', () => {
  const seed = 11
  const random = seededRandom(seed)
  const leases = book()
  const mvcc = new Mvcc(leases)
  for (let round = 0; round < 60; round++) {
    const changes: VersionedChange[] = []
    const before = { visible: dump(mvcc), leases: new Map(leases.keys), bytes: mvcc.historyBytes, head: mvcc.head }
    for (let step = 0; step < 8; step++) {
      const { change } = mvcc.evaluate(randomTransaction(random, round * 100 + step))
      if (change) changes.push(change)
    }
    assert.deepEqual(dump(mvcc), before.visible, `seed ${seed}, round ${round}: seen before durable`)
    if (round % 2 === 0) {
      for (const change of changes) mvcc.settle(change)
      continue
    }
    for (const change of changes.toReversed()) mvcc.rollback(change)
    assert.deepEqual(
      { visible: dump(mvcc), leases: new Map(leases.keys), bytes: mvcc.historyBytes, head: mvcc.head },
      before,
      `seed ${seed}, round ${round}: taken back`,
    )
    assert.equal(mvcc.range({ prefix: '' }).count, before.visible.length)
  }
})

test('[ST9] forgetting frees everything that cannot be read any more, and nothing that can', () => {
  const seed = 12
  const random = seededRandom(seed)
  const mvcc = new Mvcc(book())
  const past = new Map<number, string[]>()
  for (let step = 0; step < 400; step++) {
    const { change } = mvcc.evaluate(randomTransaction(random, step))
    if (change) mvcc.settle(change)
    past.set(mvcc.revision, dump(mvcc))
    if (step % 50 !== 49) continue
    const compacted = mvcc.compacted + 1 + random.int(mvcc.revision - mvcc.compacted)
    mvcc.compact(compacted)
    while (mvcc.canForget) mvcc.forget(3, () => undefined)
    for (const [revision, expected] of past) {
      if (revision >= compacted) assert.deepEqual(dump(mvcc, revision), expected, `seed ${seed}, step ${step}, revision ${revision}`)
      else assert.throws(() => dump(mvcc, revision), { name: 'CompactedError' })
    }
  }
  mvcc.compact(mvcc.revision)
  while (mvcc.canForget) mvcc.forget(100, () => undefined)
  assert.equal(mvcc.historyBytes, 0)
  assert.equal(mvcc.keyCount, dump(mvcc).length)
})

test('[ST9] every version is told once when it is forgotten, and the living never', () => {
  const random = seededRandom(13)
  const mvcc = new Mvcc(book())
  const made = new Set<number>()
  const forgotten = new Set<number>()
  let row = 0
  for (let step = 0; step < 300; step++) {
    const { change } = mvcc.evaluate(randomTransaction(random, step))
    if (!change) continue
    for (const version of change.versions) {
      version.row = ++row
      made.add(row)
    }
    mvcc.settle(change)
    if (step % 30 !== 0) continue
    mvcc.compact(mvcc.revision)
    while (mvcc.canForget) {
      mvcc.forget(10, ({ row: gone }) => {
        assert.ok(!forgotten.has(gone), `row ${gone} was forgotten twice`)
        forgotten.add(gone)
      })
    }
    const living = mvcc.range({ prefix: '' }).kvs.map(({ key }) => mvcc.peek(key)?.row ?? 0)
    assert.deepEqual(
      [...made].filter((each) => !forgotten.has(each)),
      living.sort((a, b) => a - b),
    )
  }
})
