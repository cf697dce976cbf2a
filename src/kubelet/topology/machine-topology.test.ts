import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatCpuSet, parseCpuSet } from '#kubelet/topology/cpu-set.ts'
import { readMachineTopology } from '#kubelet/topology/machine-topology.ts'
import { machineOf } from '#kubelet/topology/testing/machines.ts'

test('lists of processors are read and written as the kernel does', () => {
  assert.equal(formatCpuSet(parseCpuSet('7,0-2,3,5\n')), '0-3,5,7')
  assert.equal(formatCpuSet(parseCpuSet('')), '')
  for (const text of ['a', '3-1', '1-', '0-99999999']) assert.throws(() => parseCpuSet(text), /is no list of CPUs/)
})

test('two sockets with two nodes each are read from /sys', () => {
  const { cpus, nodes } = machineOf({ sockets: 2, nodesPerSocket: 2, coresPerNode: 2, threadsPerCore: 2 })
  assert.equal(cpus.length, 16)
  assert.deepEqual(cpus[9], { cpu: 9, core: 1, socket: 0, numa: 0, uncore: 0 })
  assert.deepEqual(cpus[15], { cpu: 15, core: 7, socket: 1, numa: 3, uncore: 6 })
  assert.deepEqual(
    nodes.map(({ id, cpus: own, memoryBytes, distances }) => [id, formatCpuSet(own), memoryBytes, distances.join(' ')]),
    [
      [0, '0-1,8-9', 4 * 2 ** 30, '10 11 21 21'],
      [1, '2-3,10-11', 4 * 2 ** 30, '11 10 21 21'],
      [2, '4-5,12-13', 4 * 2 ** 30, '21 21 10 11'],
      [3, '6-7,14-15', 4 * 2 ** 30, '21 21 11 10'],
    ],
  )
})

test('a machine that tells nothing of nodes is one node', () => {
  const kernel = { read: (path: string) => (path.endsWith('online') ? '0-1' : undefined), list: () => [] }
  const { cpus, nodes } = readMachineTopology({ kernel, memoryBytes: 1024, hugePages: new Map([[2048, 3]]) })
  assert.equal(cpus.length, 2)
  assert.deepEqual([nodes.length, nodes[0]?.memoryBytes, nodes[0]?.hugePages.get(2048)], [1, 1024, 3])
})
