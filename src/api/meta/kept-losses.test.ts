import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { keepLosses, takeLosses } from './kept-losses.ts'

type Stored = { metadata?: V1ObjectMeta }
const version = 'apps/v1beta1'
const key = 'legacy.typernetes.dev/apps.v1beta1'

function keptAndRestored(said: object, shown: object, later: object = shown): { note: string | undefined; restored: object; left: Stored } {
  const stored: Stored = {}
  keepLosses(stored, version, said, shown)
  const note = stored.metadata?.annotations?.[key]
  const restored = structuredClone(later)
  takeLosses(stored, version)(restored)
  return { note, restored, left: stored }
}

test('what is said but not shown is noted, and said again', () => {
  const cases: [object, object][] = [
    [{ a: 1 }, {}],
    [{}, { a: 1 }],
    [{ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 3 }] } }],
    [{ a: [1] }, { a: [1, 2] }],
    [{ a: [] }, { a: {} }],
    [{ big: 2n ** 63n - 1n, b: 1 }, { b: 1 }],
  ]
  for (const [said, shown] of cases) {
    const { restored, left } = keptAndRestored(said, shown)
    assert.deepEqual(restored, said)
    assert.deepEqual(left, { metadata: {} })
  }
})

test('where nothing is lost there is no note', () => {
  assert.equal(keptAndRestored({ a: [{ b: 1 }] }, { a: [{ b: 1 }] }).note, undefined)
})

test('a note holds only for what is still shown', () => {
  assert.deepEqual(keptAndRestored({ a: 1 }, { a: 2 }, { a: 3 }).restored, { a: 3 })
  assert.deepEqual(keptAndRestored({ a: { b: 1 } }, { a: {} }, {}).restored, {})
})

test('other annotations stay, and anything may stand where a note should', () => {
  for (const text of ['', 'null', '[1, null, {"at": []}, {"at": ["__proto__", "x"], "said": 1}]', '[{"at":["a","b"],"said":1}]']) {
    const stored: Stored = { metadata: { annotations: { [key]: text, other: 'o' } } }
    const shown = {}
    takeLosses(stored, version)(shown)
    assert.deepEqual([shown, stored.metadata?.annotations], [{}, { other: 'o' }])
  }
  assert.equal(({} as Record<string, unknown>)['x'], undefined)
})

test('what is too long to be noted is lost', () => {
  assert.equal(keptAndRestored({ a: 'x'.repeat(70_000) }, {}).note, undefined)
})
