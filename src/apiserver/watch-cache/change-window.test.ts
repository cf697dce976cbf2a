import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { Change, ChangeWindow, OldChanges, ResourceExpired } from '#apiserver/watch-cache/change-window.ts'

const limits = { windowMs: 300_000, maxChanges: 1000, maxBytes: 64 << 20 }

function change(revision: number, sizeBytes: number, atMs = 0): Change {
  return new Change('MODIFIED', revision, atMs, new CachedObject(`/a/${revision}`, '', 'a', revision, Buffer.alloc(sizeBytes)), undefined)
}

function filled(oldChanges: OldChanges): ChangeWindow {
  const window = new ChangeWindow(limits, oldChanges)
  for (let revision = 1; revision <= 4; revision++) window.push(change(revision, 25_000))
  return window
}

/** How many there still are of those with the revisions 1 to 4. */
function keptOf(window: ChangeWindow): number {
  for (let count = 4; count > 0; count--) {
    try {
      if (window.after(4 - count, 100).length >= count) return count
    } catch (error) {
      assert.ok(error instanceof ResourceExpired)
    }
  }
  return 0
}

test('resources share what is kept of changes that are too old, and each keeps a little', () => {
  const oldChanges = new OldChanges(150_000)
  const windows = Array.from({ length: 4 }, () => filled(oldChanges))
  for (const window of windows) window.settle(299_999)
  assert.equal(oldChanges.bytes, 0)
  assert.deepEqual(windows.map(keptOf), [4, 4, 4, 4])
  assert.ok(windows.every(({ isLong }) => isLong))
  for (const window of windows) window.settle(300_000)
  assert.deepEqual(windows.map(keptOf), [4, 2, 1, 1])
  assert.equal(oldChanges.bytes, 200_000)
  assert.ok(windows.every(({ isLong }) => !isLong))
})

test('what a window that is gone has kept, others may keep', () => {
  const oldChanges = new OldChanges(150_000)
  const [first, second, third] = [filled(oldChanges), filled(oldChanges), filled(oldChanges)]
  first.settle(300_000)
  second.settle(300_000)
  first.release()
  second.startAfter(4)
  assert.equal(oldChanges.bytes, 0)
  third.settle(300_000)
  assert.equal(keptOf(third), 4)
})

test('a change that comes after those that are too old is kept however large it is', () => {
  const oldChanges = new OldChanges(0)
  const window = filled(oldChanges)
  window.push(change(5, 2 << 20, 300_000))
  assert.equal(keptOf(window), 1)
  window.settle(300_001)
  assert.deepEqual(
    window.after(4, 100).map(({ revision }) => revision),
    [5],
  )
  assert.ok(window.isLong)
  window.settle(600_000)
  assert.throws(() => window.after(4, 100), ResourceExpired)
  assert.ok(!window.isLong)
})
