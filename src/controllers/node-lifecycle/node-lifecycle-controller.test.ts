import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { FakeCluster, type FakeClusterOptions } from '#testing/fake-cluster.ts'

const controllers = ['nodelifecycle', 'taint-eviction', 'nodeipam']

const start = (options: FakeClusterOptions = {}) =>
  FakeCluster.start({
    controllers,
    heartbeats: true,
    settings: { allocateNodeCidrs: true, clusterCidrs: ['10.244.0.0/16', 'fd00::/48'] },
    ...options,
  })

const ready = async (cluster: FakeCluster, name: string) =>
  (await cluster.get(Node, '', name)).status?.conditions?.find(({ type }) => type === 'Ready')?.status

const taints = async (cluster: FakeCluster, name: string) =>
  ((await cluster.get(Node, '', name)).spec?.taints ?? [])
    .map(({ key, effect }) => `${key.replace('node.kubernetes.io/', '')}:${effect}`)
    .sort()

async function aPodOn(cluster: FakeCluster, node: string, name = 'p'): Promise<void> {
  await cluster.create(Pod, {
    metadata: { namespace: 'default', name },
    spec: { nodeName: node, containers: [{ name: 'main', image: 'a' }] },
  })
}

test('a node silent for 40 s is left alone; for 6 minutes it turns Unknown and its pods are ended; when it is back it is as before', async () => {
  await using cluster = await start()
  await aPodOn(cluster, 'node-1')
  await cluster.advance({ minutes: 2 })
  cluster.nodes.silence('node-1')
  await cluster.advance({ seconds: 40 })
  assert.equal(await ready(cluster, 'node-1'), 'True')
  assert.deepEqual(await taints(cluster, 'node-1'), [])
  await cluster.advance({ seconds: 40 })
  assert.equal(await ready(cluster, 'node-1'), 'Unknown')
  assert.deepEqual(await taints(cluster, 'node-1'), ['unreachable:NoExecute', 'unreachable:NoSchedule'])
  const pod = await cluster.get(Pod, 'default', 'p')
  assert.equal(pod.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'False')
  assert.equal(pod.metadata.deletionTimestamp, undefined)
  await cluster.advance({ minutes: 6 })
  const gone = await cluster.get(Pod, 'default', 'p')
  assert.notEqual(gone.metadata.deletionTimestamp, undefined)
  assert.equal(gone.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')?.reason, 'DeletionByTaintManager')
  cluster.nodes.wake('node-1')
  await cluster.advance({ seconds: 30 })
  assert.equal(await ready(cluster, 'node-1'), 'True')
  assert.deepEqual(await taints(cluster, 'node-1'), [])
})

test('how long a pod has tolerated a taint is not told of another that has its name', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['taint-eviction'] })
  const aPod = {
    metadata: { namespace: 'default', name: 'p' },
    spec: {
      nodeName: 'node-1',
      containers: [{ name: 'main', image: 'a' }],
      tolerations: [{ key: 'lost', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 }],
    },
  }
  await cluster.change(Node, '', 'node-1', (node) => {
    node.spec = { ...node.spec, taints: [{ key: 'lost', effect: 'NoExecute' }] }
  })
  await cluster.create(Pod, aPod)
  await cluster.advance({ seconds: 50 })
  await cluster.client.delete(Pod, aPod.metadata, { gracePeriodSeconds: 0 })
  await cluster.create(Pod, aPod)
  await cluster.advance({ seconds: 50 })
  assert.equal((await cluster.find(Pod, 'default', 'p'))?.metadata.deletionTimestamp, undefined)
  assert.ok(await cluster.find(Pod, 'default', 'p'))
  await cluster.advance({ seconds: 60 })
  assert.equal(await cluster.find(Pod, 'default', 'p'), undefined)
})

test('a node that comes back in time keeps its pods', async () => {
  await using cluster = await start()
  await aPodOn(cluster, 'node-1')
  await cluster.advance({ minutes: 1 })
  cluster.nodes.silence('node-1')
  await cluster.advance({ minutes: 3 })
  assert.equal(await ready(cluster, 'node-1'), 'Unknown')
  cluster.nodes.wake('node-1')
  await cluster.advance({ minutes: 10 })
  assert.equal((await cluster.get(Pod, 'default', 'p')).metadata.deletionTimestamp, undefined)
})

test('when every node is silent nobody is driven away', async () => {
  await using cluster = await start()
  await cluster.advance({ minutes: 1 })
  for (const name of cluster.nodes.names()) cluster.nodes.silence(name)
  await cluster.advance({ minutes: 10 })
  for (const name of cluster.nodes.names()) assert.deepEqual(await taints(cluster, name), ['unreachable:NoSchedule'])
})

test('a zone that is down is cleared one node after the other', async () => {
  await using cluster = await start({ nodeCount: 9 })
  await cluster.advance({ minutes: 1 })
  // node-1, -4, -7 are in one zone: all of it is down, the others are well.
  for (const name of ['node-1', 'node-4', 'node-7']) cluster.nodes.silence(name)
  await cluster.advance({ seconds: 61 })
  const driven = async () => {
    const all = await Promise.all(cluster.nodes.names().map((name) => taints(cluster, name)))
    return all.filter((each) => each.includes('unreachable:NoExecute')).length
  }
  assert.equal(await driven(), 1)
  await cluster.advance({ seconds: 11 })
  assert.equal(await driven(), 2)
  await cluster.advance({ seconds: 60 })
  assert.equal(await driven(), 3)
})

const drivenAway = async (cluster: FakeCluster): Promise<number> => {
  const all = await Promise.all(cluster.nodes.names().map((name) => taints(cluster, name)))
  return all.filter((each) => each.includes('unreachable:NoExecute')).length
}

const silenceSome = (cluster: FakeCluster, count: number) => {
  for (const name of cluster.nodes.names().slice(0, count)) cluster.nodes.silence(name)
}

/** What zones of how many nodes, how many of them silent, and how many nodes are cleared after the given time. */
const disruptions: { name: string; options: FakeClusterOptions; silent: number; after: [minutes: number, driven: number][] }[] = [
  {
    name: 'more than half of a small cluster down: eviction stops',
    options: { nodeCount: 10, zoneCount: 1 },
    silent: 6,
    after: [
      [3, 0],
      [20, 0],
    ],
  },
  {
    name: 'less than half of it down: one node after the other is cleared',
    options: { nodeCount: 10, zoneCount: 1 },
    silent: 4,
    after: [[3, 4]],
  },
  {
    name: 'more than half of a large cluster down: eviction slows down',
    options: { nodeCount: 10, zoneCount: 1, settings: { largeClusterSizeThreshold: 9 } },
    silent: 6,
    after: [
      [2, 1],
      [4, 2],
      [20, 6],
    ],
  },
  {
    name: 'two silent nodes are never a disruption, however small the zone',
    options: { nodeCount: 3, zoneCount: 1 },
    silent: 2,
    after: [[3, 2]],
  },
]
for (const { name, options, silent, after } of disruptions) {
  test(name, async () => {
    await using cluster = await start(options)
    await cluster.advance({ minutes: 1 })
    silenceSome(cluster, silent)
    let passed = 0
    for (const [minutes, driven] of after) {
      await cluster.advance({ minutes: minutes - passed })
      passed = minutes
      assert.equal(await drivenAway(cluster), driven, `after ${minutes} minutes`)
    }
  })
}

test('when half of the cluster goes and then the rest, nodes that were being cleared are spared; when some come back, it goes on', async () => {
  await using cluster = await start({ nodeCount: 6, zoneCount: 2 })
  await aPodOn(cluster, 'node-1')
  await cluster.advance({ minutes: 1 })
  silenceSome(cluster, 2)
  await cluster.advance({ minutes: 2 })
  assert.equal(await drivenAway(cluster), 2)
  silenceSome(cluster, 6)
  await cluster.advance({ minutes: 2 })
  assert.equal(await drivenAway(cluster), 0)
  await cluster.advance({ minutes: 10 })
  assert.equal((await cluster.get(Pod, 'default', 'p')).metadata.deletionTimestamp, undefined)
  for (const name of ['node-3', 'node-4', 'node-5', 'node-6']) cluster.nodes.wake(name)
  await cluster.advance({ minutes: 2 })
  assert.equal(await drivenAway(cluster), 2)
})

test('a pod leaves a silent node when it tolerates that no longer; one that tolerates it forever stays', async () => {
  await using cluster = await start()
  const toleration = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' }
  const pods = {
    short: [{ ...toleration, tolerationSeconds: 60 }],
    forever: [toleration],
    never: [{ ...toleration, tolerationSeconds: 0 }],
  }
  for (const [name, tolerations] of Object.entries(pods)) {
    await cluster.create(Pod, {
      metadata: { namespace: 'default', name },
      spec: { nodeName: 'node-1', tolerations, containers: [{ name: 'main', image: 'a' }] },
    })
  }
  await cluster.advance({ minutes: 1 })
  cluster.nodes.silence('node-1')
  const leaving = async () => {
    const all = await cluster.list(Pod, 'default')
    return all.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).map(({ metadata }) => metadata.name)
  }
  await cluster.advance({ seconds: 75 })
  assert.deepEqual(await leaving(), ['never'])
  await cluster.advance({ seconds: 60 })
  assert.deepEqual(await leaving(), ['never', 'short'])
  await cluster.advance({ minutes: 20 })
  assert.deepEqual(await leaving(), ['never', 'short'])
})

test('labels that were beta once follow those that took their place', async () => {
  await using cluster = await start()
  const old = async () => {
    const { labels = {} } = (await cluster.get(Node, '', 'node-1')).metadata
    return [labels['beta.kubernetes.io/os'], labels['beta.kubernetes.io/arch']]
  }
  const stable = { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'arm64' }
  await cluster.client.patch(Node, { name: 'node-1' }, { metadata: { labels: stable } })
  await cluster.advance({ seconds: 1 })
  assert.deepEqual(await old(), ['linux', 'arm64'])
  await cluster.client.patch(Node, { name: 'node-1' }, { metadata: { labels: { 'beta.kubernetes.io/os': 'other' } } })
  await cluster.advance({ seconds: 1 })
  assert.deepEqual(await old(), ['linux', 'arm64'])
})

test('every node gets a range of each family, and no two the same', async () => {
  await using cluster = await start({ nodeCount: 5 })
  await cluster.advance({ seconds: 1 })
  const nodes = await cluster.list(Node)
  const ranges = nodes.map(({ spec }) => spec?.podCIDRs ?? [])
  assert.deepEqual(ranges.map(([first]) => first).sort(), [
    '10.244.0.0/24',
    '10.244.1.0/24',
    '10.244.2.0/24',
    '10.244.3.0/24',
    '10.244.4.0/24',
  ])
  assert.equal(new Set(ranges.map(([, second]) => second)).size, 5)
  assert.ok(ranges.every(([, second]) => /^fd00:.*\/64$/.test(second ?? '')))
  assert.ok(nodes.every(({ spec }) => spec?.podCIDR === spec?.podCIDRs?.[0]))
})
