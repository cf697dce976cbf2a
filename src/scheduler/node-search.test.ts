import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeInfo } from '#scheduler/cache/node-info.ts'
import { interleavedByZone } from '#scheduler/cache/node-tree.ts'
import { nodesToFind } from '#scheduler/node-search.ts'
import { FakeCluster } from '#scheduler/testing/fake-cluster.ts'
import { aNode, aPod } from '#scheduler/testing/objects.ts'

const enough: [nodes: number, configured: number, found: number][] = [
  [10, 0, 10],
  [99, 50, 99],
  [100, 0, 100],
  [1000, 0, 420],
  [5000, 0, 500],
  [6000, 0, 300],
  [10_000, 0, 500],
  [1000, 30, 300],
  [1000, 5, 100],
  [1000, 100, 1000],
]
for (const [nodes, configured, found] of enough) {
  test(`of ${nodes} nodes ${found} that fit are enough at ${configured} %`, () => assert.equal(nodesToFind(nodes, configured), found))
}

test('zones take turns until they are used up', () => {
  const nodes = ['x1', 'x2', 'x3', 'y1', 'z1', 'z2'].map((name) => new NodeInfo(aNode(name, { zone: name[0] ?? '' })))
  assert.deepEqual(
    interleavedByZone(nodes).map(({ name }) => name),
    ['x1', 'y1', 'z1', 'x2', 'z2', 'x3'],
  )
})

test('a search begins where the last one stopped, so that all nodes are used', async () => {
  const profiles = [{ schedulerName: 'default-scheduler', plugins: { score: { disabled: [{ name: '*' }] } } }]
  await using cluster = new FakeCluster({ configuration: { percentageOfNodesToScore: 10, profiles } })
  for (let index = 0; index < 1000; index++) cluster.put('Node', aNode(`n${index}`, { pods: '1' }))
  for (let index = 0; index < 1000; index++) cluster.put('Pod', aPod(`p${index}`))
  await cluster.clock.advance({ seconds: 1 })
  assert.equal(new Set(Object.values(cluster.placements())).size, 1000)
})
