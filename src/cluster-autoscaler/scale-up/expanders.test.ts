import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { NodeGroup, NodeGroupProvider } from '#cluster-autoscaler/provider/node-group.ts'
import { balancedIncreases, increasesText } from '#cluster-autoscaler/scale-up/balance-groups.ts'
import { chooseOption, type ExpansionOption, leastNodes, leastWaste, mostPods } from '#cluster-autoscaler/scale-up/expanders.ts'
import { priceExpander } from '#cluster-autoscaler/scale-up/price-expander.ts'
import { areSimilar } from '#cluster-autoscaler/scale-up/similar-groups.ts'
import { podInfoOf } from '#scheduler/cache/pod-info.ts'
import { aNode, aPod } from '#scheduler/testing/objects.ts'

const groupOf = (id: string, maxSize = 10) => ({ id, minSize: 0, maxSize }) as NodeGroup

function option(id: string, cpu: string, memory: string, nodeCount: number, podCount = 4): ExpansionOption {
  const node = aNode(id, { cpu, memory })
  const template = { ...node, status: { ...node.status, capacity: { cpu, memory } } }
  const pods = Array.from({ length: podCount }, (_, index) => podInfoOf(aPod(`p${index}`, { cpu: '1', memory: '1Gi' })))
  return { group: groupOf(id), nodeCount, pods, template }
}

const ids = (options: readonly ExpansionOption[]) => options.map(({ group }) => group.id)

test('each expander keeps what it likes best, and all that are as good', async () => {
  const all = [option('a', '4', '16Gi', 1), option('b', '2', '4Gi', 2), option('c', '8', '32Gi', 1, 5)]
  assert.deepEqual(ids(await mostPods.best(all)), ['c'])
  assert.deepEqual(ids(await leastNodes.best(all)), ['a', 'c'])
  assert.deepEqual(ids(await leastWaste.best(all)), ['b'])
})

test('expanders are asked one after the other, and chance decides among those that are left', async () => {
  const all = [option('a', '4', '16Gi', 1), option('b', '4', '16Gi', 1), option('c', '4', '16Gi', 2)]
  const chosen = new Set<string>()
  for (let seed = 0; seed < 30; seed++) chosen.add((await chooseOption(all, [mostPods, leastNodes], seededRandom(seed)))?.group.id ?? '')
  assert.deepEqual([...chosen].sort(), ['a', 'b'])
  assert.equal(await chooseOption([], [], seededRandom(1)), undefined)
})

test('the price of the nodes for the pods decides, and nodes of a size the cluster likes', async () => {
  const prices: Record<string, number> = { cheap: 0.2, dear: 0.9, tiny: 0.05 }
  const pricing = {
    nodePrice: async ({ metadata }: { metadata: { name?: string } }) => prices[metadata.name ?? ''] ?? assert.fail(),
    podPrice: async () => 0.04,
  }
  const provider = { pricing } as unknown as NodeGroupProvider
  const at = (nodeCount: number) => priceExpander({ provider, clock: new VirtualClock(), logger: silentLogger, nodeCount: () => nodeCount })
  assert.deepEqual(ids(await at(10).best([option('cheap', '4', '16Gi', 1), option('dear', '4', '16Gi', 1)])), ['cheap'])
  // Four tiny nodes cost as much as a good one, and are too small for a cluster of a hundred.
  assert.deepEqual(ids(await at(100).best([option('cheap', '4', '16Gi', 1), option('tiny', '1', '4Gi', 4)])), ['cheap'])
  assert.deepEqual(ids(await at(1).best([option('cheap', '4', '16Gi', 1), option('tiny', '1', '4Gi', 4)])), ['tiny'])
  assert.deepEqual(ids(await at(1).best([option('cheap', '4', '16Gi', 1), option('unknown', '1', '4Gi', 4)])), ['cheap'])
})

test('new nodes go to the smallest group first, and none beyond its largest size', () => {
  const groups = [
    { group: groupOf('a', 3), currentSize: 2 },
    { group: groupOf('b'), currentSize: 0 },
    { group: groupOf('c'), currentSize: 1 },
  ]
  const texts = [1, 3, 6, 100].map((count) => increasesText(balancedIncreases(groups, count)))
  assert.deepEqual(texts, [
    '[{b 0->1 (max: 10)}]',
    '[{b 0->2 (max: 10)} {c 1->2 (max: 10)}]',
    '[{b 0->3 (max: 10)} {c 1->3 (max: 10)} {a 2->3 (max: 3)}]',
    '[{b 0->10 (max: 10)} {c 1->10 (max: 10)} {a 2->3 (max: 3)}]',
  ])
})

test('groups are alike when their machines are, wherever they stand', () => {
  const options = { balancingIgnoreLabels: [], balancingLabels: [] }
  const like = (words: Parameters<typeof aNode>[1]) => {
    const node = aNode('n', words)
    return { node: { ...node, status: { ...node.status, capacity: node.status?.allocatable ?? {} } }, pods: [] }
  }
  const base = like({ cpu: '4', memory: '16Gi', zone: 'a' })
  assert.ok(areSimilar(base, like({ cpu: '4', memory: '16Gi', zone: 'b' }), options))
  assert.ok(areSimilar(base, like({ cpu: '4', memory: '15.8Gi' }), options), 'memory may differ a little')
  assert.ok(!areSimilar(base, like({ cpu: '4', memory: '15Gi' }), options))
  assert.ok(!areSimilar(base, like({ cpu: '5', memory: '16Gi' }), options))
  const labelled = like({ cpu: '4', memory: '16Gi', labels: { disk: 'ssd' } })
  assert.ok(!areSimilar(base, labelled, options))
  assert.ok(areSimilar(base, labelled, { ...options, balancingIgnoreLabels: ['disk'] }))
  assert.ok(areSimilar(labelled, like({ cpu: '64', labels: { disk: 'ssd' } }), { ...options, balancingLabels: ['disk'] }))
})
