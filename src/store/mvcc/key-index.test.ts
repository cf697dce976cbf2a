import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import { KeyIndex, type Version } from '#store/mvcc/key-index.ts'
import type { KeyRange } from '#store/store.ts'

function version(key: string, revision: number, deleted = false, older?: Version): Version {
  return { kv: { key, value: Buffer.of(), createRevision: 1, modRevision: revision, version: 1, lease: 0n }, deleted, older, row: 0 }
}

function keysIn(index: KeyIndex, range: KeyRange): string[] {
  return [...index.slices(range)].flatMap(({ block, from, to }) => block.entries.slice(from, to).map(({ key }) => key))
}

test('ranges hold what a sorted list would, through thousands of inserts and removals', () => {
  const seed = 7
  const random = seededRandom(seed)
  const index = new KeyIndex()
  const model = new Set<string>()
  const name = () => `/${'abcdef'[random.int(6)]}/${random.int(2000)}`
  for (let step = 0; step < 8000; step++) {
    const key = name()
    const entry = index.get(key)
    if (entry && random.int(3) === 0) {
      index.remove(entry)
      model.delete(key)
    } else {
      index.push(version(key, step, false, entry?.newest))
      model.add(key)
    }
    if (step % 400 !== 0) continue
    const sorted = [...model].sort()
    const [low = '', high = ''] = [name(), name()].sort()
    const prefix = name().slice(0, 4)
    assert.deepEqual(keysIn(index, { prefix: '' }), sorted, `seed ${seed}, step ${step}`)
    assert.deepEqual(
      keysIn(index, { prefix }),
      sorted.filter((each) => each.startsWith(prefix)),
      `seed ${seed}, step ${step}, ${prefix}`,
    )
    assert.deepEqual(
      keysIn(index, { key: low, end: high }),
      sorted.filter((each) => each >= low && each < high),
      `seed ${seed}, step ${step}, ${low} to ${high}`,
    )
    assert.deepEqual(
      keysIn(index, { key: low, end: '\0' }),
      sorted.filter((each) => each >= low),
      `seed ${seed}, step ${step}, from ${low}`,
    )
    assert.deepEqual(keysIn(index, { key }), model.has(key) ? [key] : [])
    const blocks = new Set([...index.slices({ prefix: '' })].map(({ block }) => block))
    for (const block of blocks) assert.equal(block.live, block.entries.length)
  }
})

test('blocks count the living, and know when they last changed', () => {
  const index = new KeyIndex()
  for (let at = 0; at < 2000; at++) index.push(version(`/${String(at).padStart(4, '0')}`, at + 1))
  const entry = index.get('/0500')
  assert.ok(entry)
  const before = entry.block.live
  const tombstone = version('/0500', 5000, true, entry.newest)
  index.push(tombstone)
  assert.deepEqual([entry.block.live, entry.block.changed], [before - 1, 5000])
  index.pop(tombstone)
  assert.equal(entry.block.live, before)
  const total = new Set([...index.slices({ prefix: '' })].map(({ block }) => block.live))
  assert.ok(total.size > 0)
})

test('keys beyond the basic plane sort by their bytes', () => {
  const index = new KeyIndex()
  const keys = ['/\u{1f600}', '/a', '/\uffee', '/\ud7ff', '/\u{10ffff}', '/\ue000', '/\u{1f600}\uffee', '/\u{1f600}\u{1f600}']
  for (const [at, key] of keys.entries()) index.push(version(key, at + 1))
  assert.deepEqual(
    keysIn(index, { prefix: '' }),
    keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
  )
})
