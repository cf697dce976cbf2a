import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noPressure, pressureNow } from '#kubelet/eviction/pressure.ts'
import { type NodeLevels, observe } from '#kubelet/eviction/signals.ts'
import { parseThresholds } from '#kubelet/eviction/thresholds.ts'

const none = { evictionHard: {}, evictionSoft: {}, evictionSoftGracePeriod: {}, evictionMinimumReclaim: {} }
const disk = (availableBytes: number) => ({
  ...{ capacityBytes: 1000, availableBytes, usedBytes: 1000 - availableBytes, inodes: 100, inodesFree: 50, inodesUsed: 50 },
})
const seen = (memory: number, space = 500): ReturnType<typeof observe> => {
  const levels: NodeLevels = {
    memory: { capacityBytes: 1000, availableBytes: memory },
    ...{ fs: disk(space), imageFs: disk(space), processes: { most: 100, current: 10 } },
  }
  return observe(levels)
}

test('a hard threshold acts at once; its condition stays for a while', () => {
  const thresholds = parseThresholds({ ...none, evictionHard: { 'memory.available': '100' } })
  const at = (state: typeof noPressure, memory: number, nowMs: number) =>
    pressureNow(state, thresholds, seen(memory), { nowMs, transitionMs: 5000 })
  const calm = at(noPressure, 100, 0)
  assert.deepEqual([calm.conditions, calm.acting], [[], []])
  const low = at(calm.state, 99, 1000)
  assert.deepEqual([low.conditions, low.acting.length], [['MemoryPressure'], 1])
  const better = at(low.state, 200, 2000)
  assert.deepEqual([better.conditions, better.acting.length], [['MemoryPressure'], 0])
  assert.deepEqual(at(better.state, 200, 6000).conditions, [])
})

test('a soft threshold waits for its grace, and forgets when it is over in between', () => {
  const thresholds = parseThresholds({
    ...none,
    evictionSoft: { 'nodefs.available': '20%' },
    evictionSoftGracePeriod: { 'nodefs.available': '1m' },
  })
  const at = (state: typeof noPressure, space: number, nowMs: number) =>
    pressureNow(state, thresholds, seen(500, space), { nowMs, transitionMs: 0 })
  const first = at(noPressure, 199, 0)
  assert.deepEqual([first.conditions, first.acting.length], [['DiskPressure'], 0])
  assert.equal(at(first.state, 199, 60_000).acting.length, 1)
  const between = at(first.state, 201, 30_000)
  assert.equal(at(between.state, 199, 60_000).acting.length, 0)
})

test('once met, so much more is to be won back', () => {
  const thresholds = parseThresholds({
    ...none,
    evictionHard: { 'memory.available': '100' },
    evictionMinimumReclaim: { 'memory.available': '50' },
  })
  const low = pressureNow(noPressure, thresholds, seen(90), { nowMs: 0, transitionMs: 0 })
  assert.equal(pressureNow(low.state, thresholds, seen(149), { nowMs: 1, transitionMs: 0 }).acting.length, 1)
  assert.equal(pressureNow(low.state, thresholds, seen(150), { nowMs: 1, transitionMs: 0 }).acting.length, 0)
  assert.equal(pressureNow(noPressure, thresholds, seen(149), { nowMs: 1, transitionMs: 0 }).acting.length, 0)
})

test('memory comes before disks', () => {
  const thresholds = parseThresholds({ ...none, evictionHard: { 'nodefs.available': '90%', 'memory.available': '90%' } })
  const { acting } = pressureNow(noPressure, thresholds, seen(10), { nowMs: 0, transitionMs: 0 })
  assert.deepEqual(
    acting.map(({ signal }) => signal),
    ['memory.available', 'nodefs.available'],
  )
})

for (const [settings, message] of [
  [{ evictionHard: { 'memory.free': '1' } }, /^evictionHard: unknown eviction signal memory.free; one of memory.available, /],
  [{ evictionHard: { 'memory.available': 'much' } }, /^evictionHard: memory.available: much is neither an amount/],
  [{ evictionSoft: { 'memory.available': '1Gi' } }, /^evictionSoft: memory.available has no grace period/],
] as const) {
  test(`refused: ${message.source}`, () => {
    assert.throws(() => parseThresholds({ ...none, ...settings }), { message })
  })
}
