import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import { checkLinearizability, type Operation } from '#testing/history/linearizability.ts'
import { type ObjectCall, type ObjectResult, objectModel } from '#testing/history/object-model.ts'
import { revisionProblems } from '#testing/history/revision-order.ts'
import { snapshotProblems } from '#testing/history/snapshot-reads.ts'
import { asWatch, type StoredChange, storedProblems } from '#testing/history/stored-changes.ts'
import { type WatchedEvent, watchProblems } from '#testing/history/watch-completeness.ts'

type Op = Operation<ObjectCall, ObjectResult>
const op = (calledMs: number, returnedMs: number, call: ObjectCall, result: ObjectResult): Op => ({
  client: 'c',
  call,
  calledMs,
  returnedMs,
  result,
})
const created = (at: number, until: number, value: string, revision: number) =>
  op(at, until, { verb: 'create', value }, { kind: 'written', revision })
const found = (at: number, until: number, value: string, revision: number) =>
  op(at, until, { verb: 'get' }, { kind: 'found', value, revision })
const absent = (at: number, until: number) => op(at, until, { verb: 'get' }, { kind: 'absent' })
const lost = (at: number, call: ObjectCall) => op(at, Number.POSITIVE_INFINITY, call, { kind: 'unknown' })
const holds = (...operations: Op[]) => checkLinearizability(operations, objectModel).isLinearizable

describe('histories of one object', () => {
  test('what is read after a write has returned is that write', () => {
    assert.ok(holds(created(0, 1, 'a', 5), found(2, 3, 'a', 5)))
    assert.ok(!holds(created(0, 1, 'a', 5), absent(2, 3)))
    assert.ok(!holds(created(0, 1, 'a', 5), found(2, 3, 'b', 6)))
  })

  test('while a write is under way readers may see either, but not the new one and then the old', () => {
    const update = op(2, 9, { verb: 'update', value: 'b', ifRevision: 5 }, { kind: 'written', revision: 6 })
    assert.ok(holds(created(0, 1, 'a', 5), update, found(3, 4, 'a', 5), found(5, 6, 'b', 6)))
    assert.ok(!holds(created(0, 1, 'a', 5), update, found(3, 4, 'b', 6), found(5, 6, 'a', 5)))
  })

  test('a write of which nobody knows may have been, at any time after its call, or never', () => {
    const unknown = lost(2, { verb: 'update', value: 'b', ifRevision: 5 })
    assert.ok(holds(created(0, 1, 'a', 5), unknown, found(10, 11, 'a', 5)))
    assert.ok(holds(created(0, 1, 'a', 5), unknown, found(10, 11, 'a', 5), found(12, 13, 'b', 9)))
    assert.ok(!holds(created(0, 1, 'a', 5), unknown, found(10, 11, 'b', 9), found(12, 13, 'a', 5)))
    assert.ok(!holds(created(3, 4, 'a', 5), found(0, 1, 'b', 9), unknown), 'before its call it cannot have been')
  })

  test('of two that write on condition of the same revision one is refused', () => {
    const update = (value: string, result: ObjectResult) => op(2, 3, { verb: 'update', value, ifRevision: 5 }, result)
    assert.ok(holds(created(0, 1, 'a', 5), update('b', { kind: 'written', revision: 6 }), update('c', { kind: 'conflict' })))
    assert.ok(!holds(created(0, 1, 'a', 5), update('b', { kind: 'written', revision: 6 }), update('c', { kind: 'written', revision: 7 })))
    assert.ok(!holds(created(0, 1, 'a', 5), update('b', { kind: 'conflict' })), 'refused without a reason')
  })

  test('what is written on no condition needs the object to be there, and nothing else', () => {
    const patched = (at: number, until: number, value: string, revision: number) =>
      op(at, until, { verb: 'update', value }, { kind: 'written', revision })
    const removed = op(4, 5, { verb: 'delete' }, { kind: 'deleted' })
    assert.ok(holds(created(0, 1, 'a', 5), patched(2, 3, 'b', 7), removed, absent(6, 7)))
    assert.ok(!holds(removed, created(6, 7, 'a', 5)))
    assert.ok(!holds(created(2, 3, 'a', 5), patched(0, 1, 'b', 4)))
    assert.ok(!holds(created(0, 1, 'a', 5), patched(2, 3, 'b', 7), found(4, 5, 'a', 5)))
  })

  test('deleted is gone, and may be created again', () => {
    const removed = op(2, 3, { verb: 'delete', ifRevision: 5 }, { kind: 'deleted' })
    assert.ok(holds(created(0, 1, 'a', 5), removed, absent(4, 5), created(6, 7, 'b', 8), found(8, 9, 'b', 8)))
    assert.ok(!holds(created(0, 1, 'a', 5), removed, found(4, 5, 'a', 5)))
    assert.ok(!holds(created(0, 1, 'a', 5), op(2, 3, { verb: 'create', value: 'b' }, { kind: 'written', revision: 6 })))
  })

  test('hundreds of operations of many clients are decided in a moment, and one wrong answer among them is found', () => {
    for (let seed = 1; seed <= 5; seed++) {
      const history = simulated(400, seed)
      assert.deepEqual(checkLinearizability(history, objectModel), { isLinearizable: true })
      const reads = history.filter(({ result }) => result.kind === 'found' && result.revision > 10)
      const wrong = reads[reads.length >> 1] ?? assert.fail()
      const spoilt = history.map((one) =>
        one === wrong ? { ...one, result: { kind: 'found' as const, value: 'never', revision: 1 } } : one,
      )
      const verdict = checkLinearizability(spoilt, objectModel)
      assert.ok(!verdict.isLinearizable && verdict.stuckAt.some(({ calledMs }) => calledMs === wrong.calledMs))
    }
  })
})

/** Clients of a server that is right, some of whose answers are lost. */
function simulated(count: number, seed: number): Op[] {
  const random = seededRandom(seed)
  const history: Op[] = []
  let state: { value: string; revision: number } | undefined
  let revision = 1
  let lostCount = 0
  const free = Array.from({ length: 5 }, () => 0)
  for (let index = 0; index < count; index++) {
    const client = random.int(free.length)
    // All of them take effect in the order of the index, somewhere between call and return.
    const effectMs = (index + 1) * 10
    const calledMs = Math.max(free[client] ?? 0, effectMs - random.int(25))
    const returnedMs = effectMs + random.int(25)
    free[client] = returnedMs + 1
    if (calledMs > effectMs) continue
    const known = state?.revision ?? 0
    const isLost = lostCount < 8 && random.int(30) === 0
    if (isLost) lostCount++
    const push = (call: ObjectCall, result: ObjectResult) =>
      history.push(isLost ? lost(calledMs, call) : { client: `c${client}`, call, calledMs, returnedMs, result })
    const choice = random.int(4)
    if (state === undefined && choice > 0) {
      state = { value: `v${index}`, revision: ++revision }
      push({ verb: 'create', value: state.value }, { kind: 'written', revision })
    } else if (state !== undefined && choice === 1) {
      state = { value: `v${index}`, revision: ++revision }
      push({ verb: 'update', value: state.value, ifRevision: known }, { kind: 'written', revision })
    } else if (state !== undefined && choice === 2 && random.int(4) === 0) {
      state = undefined
      revision++
      push({ verb: 'delete', ifRevision: known }, { kind: 'deleted' })
    } else if (!isLost) push({ verb: 'get' }, state === undefined ? { kind: 'absent' } : { kind: 'found', ...state })
  }
  return history
}

describe('watches', () => {
  const event = (revision: number, type: WatchedEvent['type'] = 'MODIFIED', key = 'a'): WatchedEvent => ({
    type,
    key,
    value: `v${revision}`,
    revision,
  })
  const watch = (events: WatchedEvent[], fromRevision = 0, untilRevision = 9) => ({ client: 'w', fromRevision, untilRevision, events })

  test('a watch that tells everything once and in order is right', () => {
    const events = [event(2, 'ADDED'), event(3), event(5, 'DELETED'), event(6, 'ADDED')]
    assert.deepEqual(watchProblems([watch(events), watch(events.slice(1), 2)], [{ key: 'a', value: 'v3', revision: 3 }]), [])
  })

  test('what is missing, repeated, out of order, or different from what others were told is named', () => {
    const events = [event(2, 'ADDED'), event(3), event(5)]
    assert.match(watchProblems([watch(events), watch([event(2, 'ADDED'), event(5)])], []).join(), /was not told of a=v3 at 3/)
    assert.match(watchProblems([watch(events)], [{ key: 'b', value: 'x', revision: 4 }]).join(), /was not told of b=x at 4/)
    assert.match(watchProblems([watch([event(2, 'ADDED'), event(2, 'ADDED')])], []).join(), /came after revision 2/)
    assert.match(
      watchProblems([watch(events), watch([event(2, 'ADDED'), { ...event(3), value: 'other' }, event(5)])], []).join(),
      /another watch/,
    )
    assert.match(watchProblems([watch([event(2, 'ADDED'), event(3, 'ADDED')])], []).join(), /though it was there/)
    assert.deepEqual(watchProblems([watch([event(2, 'ADDED')], 0, 2)], [{ key: 'a', value: 'v3', revision: 3 }]), [], 'it was not that far')
  })
})

test('revisions only grow for those who ask one after the other', () => {
  const sighting = (calledMs: number, revision: number, isWrite: boolean) => ({
    client: 'c',
    what: `op ${calledMs}`,
    calledMs,
    returnedMs: calledMs + 5,
    revision,
    isWrite,
  })
  assert.deepEqual(revisionProblems([sighting(0, 5, true), sighting(10, 5, false), sighting(12, 7, true), sighting(14, 6, false)]), [])
  assert.match(revisionProblems([sighting(0, 5, true), sighting(10, 4, false)]).join(), /op 10 got revision 4, after c: op 0 had got 5/)
  assert.match(revisionProblems([sighting(0, 5, true), sighting(2, 5, true)]).join(), /the same revision/)
})

describe('what the store says has happened', () => {
  const stored = (revision: number, key: string, value?: string, isNew = false): StoredChange => ({ revision, key, value, isNew })
  const told = (key: string, call: ObjectCall, result: ObjectResult) => ({ client: 'c', key, call, result })
  const createsA = told('k', { verb: 'create', value: 'a' }, { kind: 'written', revision: 5 })
  const updatesB = told('k', { verb: 'update', value: 'b', ifRevision: 5 }, { kind: 'unknown' })

  test('it holds what was acknowledged, once, and nothing that was refused', () => {
    assert.deepEqual(storedProblems([createsA, updatesB], [stored(5, 'k', 'a', true), stored(6, 'k', 'b')]), [])
    assert.match(storedProblems([createsA], []).join(), /create k=a was acknowledged at 5, and is not in the store/)
    assert.match(storedProblems([createsA], [stored(6, 'k', 'a', true)]).join(), /is not in the store/)
    assert.match(
      storedProblems(
        [createsA, updatesB],
        [5, 6, 7].map((at) => stored(at, 'k', at === 5 ? 'a' : 'b')),
      ).join(),
      /k=b took place twice/,
    )
    const refused = told('k', { verb: 'update', value: 'b', ifRevision: 5 }, { kind: 'conflict' })
    assert.match(
      storedProblems([createsA, refused], [stored(5, 'k', 'a', true), stored(6, 'k', 'b')]).join(),
      /was refused \(conflict\), and yet/,
    )
    assert.match(storedProblems([createsA], [stored(5, 'k', 'a', true), stored(6, 'k', 'x')]).join(), /k=x at 6 was written by nobody/)
  })

  test('what was read was there, and what was deleted ended there', () => {
    const reads = told('k', { verb: 'get' }, { kind: 'found', value: 'a', revision: 6 })
    assert.match(storedProblems([createsA, reads], [stored(5, 'k', 'a', true)]).join(), /found a at 6, which was never stored/)
    const deletes = told('k', { verb: 'delete', ifRevision: 5 }, { kind: 'deleted' })
    assert.deepEqual(storedProblems([createsA, deletes], [stored(5, 'k', 'a', true), stored(9, 'k')]), [])
    assert.match(
      storedProblems([createsA, updatesB, deletes], [stored(5, 'k', 'a', true), stored(6, 'k', 'b'), stored(9, 'k')]).join(),
      /delete k at 5 was acknowledged, and something else came next/,
    )
  })

  test('a watch is compared with it', () => {
    const history = asWatch([stored(5, 'k', 'a', true), stored(6, 'k', 'b'), stored(7, 'k')])
    const events: WatchedEvent[] = [
      { type: 'ADDED', key: 'k', value: 'a', revision: 5 },
      { type: 'DELETED', key: 'k', value: 'b', revision: 7 },
    ]
    const watch = { client: 'w', fromRevision: 0, untilRevision: 7, events }
    assert.match(watchProblems([history, watch], []).join(), /w: was not told of k=b at 6/)
    const invented = { ...watch, events: [...events, { type: 'ADDED' as const, key: 'k', value: 'c', revision: 8 }] }
    assert.match(watchProblems([history, invented], []).join(), /the store: was not told of k=c at 8/)
  })

  test('a list shows what was there at its revision, all of it, once', () => {
    const changes = [stored(5, 'k', 'a', true), stored(6, 'l', 'b', true), stored(7, 'k')]
    const [k, l] = [
      { key: 'k', value: 'a', revision: 5 },
      { key: 'l', value: 'b', revision: 6 },
    ]
    const list = (revision: number, ...items: (typeof k)[]) => snapshotProblems([{ client: 'c', what: 'list', revision, items }], changes)
    assert.deepEqual([...list(4), ...list(5, k), ...list(6, l, k), ...list(100, l)], [])
    assert.match(list(6, k).join(), /as of 6 does not show l=b at 6/)
    assert.match(list(7, k, l).join(), /shows k=a at 5, the store had none/)
    assert.match(list(5, { ...k, value: 'z' }).join(), /shows k=z at 5, the store had a at 5/)
    assert.match(list(5, k, k).join(), /twice/)
  })
})
