import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machineOf } from '#kubelet/topology/testing/machines.ts'
import { mergeHints, type TopologyHints, type TopologyPolicy } from '#kubelet/topology/topology-hint.ts'

const { nodes } = machineOf({ sockets: 2, nodesPerSocket: 2, coresPerNode: 2, threadsPerCore: 1 })
const policy = (name: TopologyPolicy['name'], prefersClosest = false): TopologyPolicy => ({ name, nodes, prefersClosest })
const hint = (affinity: number, isPreferred: boolean) => ({ affinity, isPreferred })

const cpuAnywhere: TopologyHints = { cpu: [hint(0b0001, true), hint(0b0010, true), hint(0b0011, false)] }

for (const [name, hints, expected] of [
  [
    'nobody cares',
    [{}, {}],
    { 'best-effort': [0b1111, true, true], restricted: [0b1111, true, true], 'single-numa-node': [undefined, true, true] },
  ],
  [
    'one device is on node 1',
    [cpuAnywhere, { gpu: [hint(0b0010, true)] }],
    { 'best-effort': [0b0010, true, true], restricted: [0b0010, true, true], 'single-numa-node': [0b0010, true, true] },
  ],
  [
    'nothing is left of one',
    [cpuAnywhere, { gpu: [] }],
    { 'best-effort': [0b0001, false, true], restricted: [0b0001, false, false], 'single-numa-node': [undefined, false, false] },
  ],
  [
    'only both nodes will do, though one would if it were free',
    [{ cpu: [hint(0b0011, false)] }],
    { 'best-effort': [0b0011, false, true], restricted: [0b0011, false, false], 'single-numa-node': [undefined, false, false] },
  ],
  [
    'two nodes are needed by all',
    [{ cpu: [hint(0b0011, true)] }, { memory: [hint(0b0011, true)] }],
    { 'best-effort': [0b0011, true, true], restricted: [0b0011, true, true], 'single-numa-node': [undefined, false, false] },
  ],
] as const) {
  for (const [policyName, [affinity, isPreferred, isAdmitted]] of Object.entries(expected)) {
    test(`${policyName}, where ${name}`, () => {
      const merged = mergeHints(policy(policyName as TopologyPolicy['name']), hints)
      assert.deepEqual(merged, { hint: { affinity, isPreferred }, isAdmitted })
    })
  }
}

test('of as many nodes the closest are taken where that is asked for', () => {
  const hints = [{ cpu: [hint(0b0101, true), hint(0b1100, true)] }]
  assert.equal(mergeHints(policy('best-effort'), hints).hint.affinity, 0b0101)
  assert.equal(mergeHints(policy('best-effort', true), hints).hint.affinity, 0b1100)
})
