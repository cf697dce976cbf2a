import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import { ConfigMap, Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { clusterProportionalAutoscaler } from '#controllers/cluster-proportional-autoscaler/cluster-proportional-autoscaler.ts'
import { clusterSize, parseTargets } from '#controllers/cluster-proportional-autoscaler/scale-proportionally.ts'
import { readScalingParams } from '#controllers/cluster-proportional-autoscaler/scaling-params.ts'
import { failingWrite } from '#testing/failing-write.ts'
import { FakeCluster, type FakeClusterOptions } from '#testing/fake-cluster.ts'

const size = (nodes: number, cores: number, totalNodes = nodes, totalCores = cores) => ({
  ...{ schedulableNodes: nodes, schedulableCores: cores, totalNodes, totalCores },
})

const reckoned: readonly [mode: string, params: object, cluster: ReturnType<typeof size>, replicas: number][] = [
  ['linear', { coresPerReplica: 2, nodesPerReplica: 1, min: 1, max: 100 }, size(4, 13), 7],
  ['linear', { coresPerReplica: 2, nodesPerReplica: 1, min: 1, max: 100 }, size(9, 13), 9],
  ['linear', { coresPerReplica: 256, nodesPerReplica: 16 }, size(1, 4), 1],
  ['linear', { coresPerReplica: 256, nodesPerReplica: 16, preventSinglePointFailure: true }, size(2, 8), 2],
  ['linear', { coresPerReplica: 256, nodesPerReplica: 16, preventSinglePointFailure: true }, size(1, 8), 1],
  ['linear', { nodesPerReplica: 2, min: 3, max: 5 }, size(1, 1), 3],
  ['linear', { nodesPerReplica: 2, min: 3, max: 5 }, size(100, 1), 5],
  ['linear', { nodesPerReplica: 0.5 }, size(3, 1), 6],
  ['linear', { nodesPerReplica: 1, includeUnschedulableNodes: true }, size(2, 4, 7, 14), 7],
  ['linear', { nodesPerReplica: 1 }, size(2, 4, 7, 14), 2],
  [
    'ladder',
    {
      coresToReplicas: [
        [1, 1],
        [64, 3],
        [512, 5],
      ],
      nodesToReplicas: [
        [1, 1],
        [2, 2],
      ],
    },
    size(1, 100),
    3,
  ],
  [
    'ladder',
    {
      coresToReplicas: [
        [1, 1],
        [64, 3],
        [512, 5],
      ],
      nodesToReplicas: [
        [1, 1],
        [2, 2],
      ],
    },
    size(7, 10),
    2,
  ],
  [
    'ladder',
    {
      nodesToReplicas: [
        [4, 5],
        [2, 2],
      ],
    },
    size(1, 1),
    2,
  ],
  [
    'ladder',
    {
      nodesToReplicas: [
        [0, 0],
        [2, 2],
      ],
    },
    size(1, 1),
    0,
  ],
  [
    'ladder',
    {
      nodesToReplicas: [
        [0, 0],
        [2, 2],
      ],
      includeUnschedulableNodes: true,
    },
    size(1, 1, 3, 3),
    2,
  ],
]

test('replicas follow nodes and cores, in proportion or in steps', () => {
  for (const [mode, params, cluster, replicas] of reckoned)
    assert.equal(readScalingParams({ [mode]: JSON.stringify(params) })(cluster), replicas, `${mode} ${JSON.stringify(params)}`)
})

test('parameters that cannot be are refused in upstream’s words', () => {
  for (const [data, message] of [
    [{}, /invalid configMap format, expected only one entry/],
    [{ linear: '{}', ladder: '{}' }, /expected only one entry/],
    [{ other: '{}' }, /not a supported control mode: other/],
    [{ linear: '{' }, /error parsing linear params: could not parse parameters/],
    [{ linear: '{}' }, /should at least provide either CoresPerReplica or NodesPerReplica/],
    [{ linear: '{"nodesPerReplica":-1}' }, /invalid negative value for nodesPerReplica: -1/],
    [{ linear: '{"nodesPerReplica":1,"min":-1}' }, /invalid negative value for min: -1/],
    [{ linear: '{"nodesPerReplica":1,"min":5,"max":3}' }, /max replicas count 3 should be greater than/],
    [{ ladder: '{"nodesToReplicas":[[1]]}' }, /invalid element \[1\] in nodes_to_replicas_map/],
    [{ ladder: '{"coresToReplicas":[[1,-1]]}' }, /invalid negative values in entry \[1,-1\] in cores_to_replicas_map/],
  ] as const)
    assert.throws(() => readScalingParams(data as Record<string, string>), message)
  assert.throws(() => parseTargets('service/x'), /"service\/x" is not a valid target/)
})

const aNode = (name: string, { cpu = '1500m', ready = 'True', unschedulable = false, labels = {} } = {}): V1Node =>
  ({
    metadata: { name, labels },
    spec: { unschedulable },
    status: { allocatable: { cpu }, conditions: [{ type: 'Ready', status: ready }] },
  }) as V1Node

test('nodes that are not ready or take no pods count only in the total, and parts of cores are added up', () => {
  const nodes = [
    aNode('a'),
    aNode('b'),
    aNode('c', { ready: 'False' }),
    aNode('d', { unschedulable: true }),
    aNode('e', { labels: { x: 'y' } }),
  ]
  assert.deepEqual(clusterSize(nodes), { totalNodes: 5, schedulableNodes: 3, totalCores: 8, schedulableCores: 5 })
  assert.deepEqual(clusterSize(nodes, 'x=y'), { totalNodes: 1, schedulableNodes: 1, totalCores: 2, schedulableCores: 2 })
})

async function addNode(cluster: FakeCluster, name: string): Promise<void> {
  const node = aNode(name)
  const made = await cluster.create(Node, { metadata: node.metadata, spec: node.spec ?? {} })
  await cluster.client.updateStatus(Node, { ...made, status: node.status ?? {} })
}

async function addDeployment(cluster: FakeCluster): Promise<void> {
  const labels = { app: 'dns' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  await cluster.create(Deployment, {
    metadata: { namespace: 'default', name: 'dns' },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  })
}

const replicas = async (cluster: FakeCluster) => (await cluster.get(Deployment, 'default', 'dns')).spec?.replicas

test('the config map is made where there is none, followed when it changes, and mistakes in it stop nothing', async () => {
  await using cluster = await FakeCluster.start({ withoutNodes: true })
  const failures: (string | undefined)[] = []
  const scaling = {
    ...{ namespace: 'default', configMap: 'dns', targets: parseTargets('Deployment/DNS') },
    defaultParams: { linear: '{"nodesPerReplica":1}' },
  }
  await using _ = await cluster.run([
    clusterProportionalAutoscaler({ scaling, periodMs: 10_000, onRound: (error) => failures.push(error?.message) }),
  ])
  await cluster.advance({ seconds: 11 })
  assert.match(failures.at(-1) ?? '', /deployments.apps "dns" not found/)
  await addDeployment(cluster)
  for (const name of ['a', 'b', 'c']) await addNode(cluster, name)
  await cluster.advance({ seconds: 11 })
  assert.equal(await replicas(cluster), 3)
  assert.equal(failures.at(-1), undefined)
  await cluster.change(ConfigMap, 'default', 'dns', (map) => {
    map.data = { linear: 'nonsense' }
  })
  await cluster.advance({ seconds: 11 })
  assert.match(failures.at(-1) ?? '', /error parsing linear params/)
  assert.equal(await replicas(cluster), 3)
  await cluster.change(ConfigMap, 'default', 'dns', (map) => {
    map.data = { ladder: '{"nodesToReplicas":[[0,7]]}' }
  })
  await cluster.advance({ seconds: 11 })
  assert.equal(await replicas(cluster), 7)
})

for (const how of ['refused', 'lost'] as const) {
  test(`switched on by name it scales what config maps name, though a write is ${how}`, async () => {
    const count = { writes: 0 }
    const options: FakeClusterOptions = {
      ...{ withoutNodes: true, controllers: ['cluster-proportional-autoscaler'] },
      // The first write of all makes the service account.
      through: (transport) => failingWrite(transport, { at: 1, how }, count),
    }
    await using cluster = await FakeCluster.start(options)
    await addDeployment(cluster)
    for (const name of ['a', 'b', 'c', 'd']) await addNode(cluster, name)
    const annotations = { 'cluster-proportional-autoscaler.typernetes.dev/target': 'deployment/dns' }
    await cluster.create(ConfigMap, {
      metadata: { namespace: 'default', name: 'params', annotations },
      data: { linear: '{"nodesPerReplica":2}' },
    })
    await cluster.advance({ seconds: 30 })
    assert.equal(await replicas(cluster), 2)
    assert.ok(count.writes >= 2)
  })
}
