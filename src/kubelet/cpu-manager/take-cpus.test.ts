import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CpuLayout } from '#kubelet/cpu-manager/cpu-layout.ts'
import { distributeCpus } from '#kubelet/cpu-manager/distribute-cpus.ts'
import { takeCpus } from '#kubelet/cpu-manager/take-cpus.ts'
import { formatCpuSet, parseCpuSet } from '#kubelet/topology/cpu-set.ts'
import { machineOf } from '#kubelet/topology/testing/machines.ts'

/** Threads of core n are n and n + 4; of socket 0 are cores 0 and 1. */
const twoSockets = CpuLayout.of(machineOf({ sockets: 2, nodesPerSocket: 1, coresPerNode: 2, threadsPerCore: 2 }))
const fourNodes = CpuLayout.of(machineOf({ sockets: 2, nodesPerSocket: 2, coresPerNode: 4, threadsPerCore: 1 }))

for (const [what, available, count, sorting, expected] of [
  ['one processor is the first', '0-7', 1, 'packed', '0'],
  ['two share a core', '0-7', 2, 'packed', '0,4'],
  ['four are a socket', '0-7', 4, 'packed', '0-1,4-5'],
  ['cores that are used already are used up first', '0-3,5-7', 1, 'packed', '0'],
  ['a whole core though another has one left', '0-3,5-7', 2, 'packed', '1,5'],
  ['the socket with less left is filled up', '1-7', 3, 'packed', '1,4-5'],
  ['spread: each on a core of its own', '0-7', 2, 'spread', '0-1'],
  ['a socket and a core', '0-7', 6, 'packed', '0-2,4-6'],
  ['nothing', '0-7', 0, 'packed', ''],
] as const) {
  test(`taken: ${what}`, () => {
    assert.equal(formatCpuSet(takeCpus(twoSockets, parseCpuSet(available), count, { sorting })), expected)
  })
}

test('too many are refused in upstream words', () => {
  assert.throws(() => takeCpus(twoSockets, parseCpuSet('0-1'), 3, { sorting: 'packed' }), {
    message: 'not enough cpus available to satisfy request: requested=3, available=2',
  })
})

for (const [what, available, count, expected] of [
  ['evenly over the two nodes that are needed', '0-15', 6, '0-2,4-6'],
  ['one node where one will do', '0-15', 4, '0-3'],
  ['what does not divide is dealt in turn', '0-15', 5, '0-2,4-5'],
  ['over nodes that have room for the same share', '0,4-15', 6, '4-6,8-10'],
] as const) {
  test(`distributed: ${what}`, () => {
    assert.equal(formatCpuSet(distributeCpus(fourNodes, parseCpuSet(available), count, 1, { sorting: 'packed' })), expected)
  })
}
