import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sliceProperties } from '#kubelet/cgroups/systemd-slices.ts'

test("limits have systemd's names, which differ by the version of cgroups", () => {
  const limits = { shares: 512, quotaMicros: 25_500, memoryBytes: 1000, pids: 10, memoryMinBytes: 400, memoryLowBytes: 0 }
  assert.deepEqual(sliceProperties(limits, 1), ['CPUShares=512', 'CPUQuota=26%', 'MemoryLimit=1000', 'TasksMax=10'])
  assert.deepEqual(sliceProperties(limits, 2), [
    ...['CPUWeight=59', 'CPUQuota=26%', 'MemoryMax=1000', 'TasksMax=10'],
    ...['MemoryMin=400', 'MemoryLow=0'],
  ])
})

test('what is not limited is said to be free, and what is left out is not touched', () => {
  assert.deepEqual(sliceProperties({ quotaMicros: 0, memoryBytes: 0, pids: 0 }, 2), [
    'CPUQuota=',
    'MemoryMax=infinity',
    'TasksMax=infinity',
  ])
  assert.deepEqual(sliceProperties({}, 2), [])
})
