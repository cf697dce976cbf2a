import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Event, Node, Service } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1Service } from '#api/core/v1/types.gen.ts'
import { Metrics } from '#base/metrics.ts'
import { cloudControllers } from '#controllers/cloud/cloud-controllers.ts'
import { SimulatedCloud } from '#controllers/cloud/testing/simulated-cloud.ts'
import { failingWrite, type WriteFault } from '#testing/failing-write.ts'
import { FakeCluster, type FakeClusterOptions } from '#testing/fake-cluster.ts'

const uninitialized = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' }

type Cloudy = { cluster: FakeCluster; cloud: SimulatedCloud; metrics: Metrics }

/** A cluster on a cloud; `prepare` comes before the controllers. */
async function start(prepare: (cloud: SimulatedCloud) => void = () => undefined, options: FakeClusterOptions = {}): Promise<Cloudy> {
  const metrics = new Metrics()
  let cloud: SimulatedCloud | undefined
  const cluster = await FakeCluster.start({
    withoutNodes: true,
    settings: { clusterCidrs: ['10.244.0.0/16'] },
    more: (clock) => {
      if (cloud === undefined) {
        cloud = new SimulatedCloud(clock)
        prepare(cloud)
      }
      const { provider } = cloud
      const periods = { nodeStatusUpdateMs: 300_000, routePeriodMs: 10_000 }
      return cloudControllers({ provider, metrics, concurrentNodeUpdates: 1, configuresRoutes: true, ...periods })
    },
    ...options,
  })
  assert.ok(cloud)
  return { cluster, cloud, metrics }
}

async function addNode(cluster: FakeCluster, name: string, more: Partial<V1Node> = {}, ready = 'True'): Promise<void> {
  const { status = {}, ...rest } = more
  const node = await cluster.create(Node, { metadata: { name }, spec: { taints: [uninitialized] }, ...rest })
  const now = '2020-01-01T00:00:00Z'
  const conditions = [{ type: 'Ready', status: ready, reason: 'r', message: '', lastHeartbeatTime: now, lastTransitionTime: now }]
  await cluster.client.updateStatus(Node, { ...node, status: { ...status, conditions } })
}

const aService = (name = 'web', spec: V1Service['spec'] = {}): V1Service => ({
  metadata: { namespace: 'default', name },
  spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
})

/** Reasons of events in the order they came; how often each. */
async function reasons(cluster: FakeCluster, name: string): Promise<string[]> {
  const events = (await cluster.list(Event, 'default')).filter(({ involvedObject }) => involvedObject.name === name)
  return events.map(({ reason, count }) => `${reason} ${count}`).sort()
}

const taintsOf = async (cluster: FakeCluster, name: string) =>
  ((await cluster.get(Node, '', name)).spec?.taints ?? []).map(({ key }) => key.replace(/^node\./, ''))

test('a node is told its provider ID, its addresses, zone, region and type, and then pods may come', async () => {
  const { cluster, metrics } = await start((cloud) =>
    cloud.addMachine('n1', { labels: { 'cloud.example/rack': '7', 'x.kubernetes.io/no': '1' } }),
  )
  await using _ = cluster
  await addNode(cluster, 'n1', { status: { addresses: [{ type: 'Hostname', address: 'n1.local' }] } })
  await cluster.advance({ seconds: 5 })
  const { metadata, spec, status } = await cluster.get(Node, '', 'n1')
  assert.equal(spec?.providerID, 'sim://n1')
  assert.deepEqual(await taintsOf(cluster, 'n1'), ['kubernetes.io/not-ready'])
  assert.deepEqual(metadata.labels, {
    'beta.kubernetes.io/instance-type': 'small',
    'node.kubernetes.io/instance-type': 'small',
    'failure-domain.beta.kubernetes.io/region': 'r',
    'topology.kubernetes.io/region': 'r',
    'failure-domain.beta.kubernetes.io/zone': 'a',
    'topology.kubernetes.io/zone': 'a',
    'cloud.example/rack': '7',
  })
  assert.deepEqual(status?.addresses, [
    { type: 'InternalIP', address: '10.0.0.1' },
    { type: 'Hostname', address: 'n1.local' },
  ])
  assert.deepEqual(await reasons(cluster, 'n1'), ['Synced 1'])
  assert.match(metrics.text(), /node_controller_initial_node_sync_delay_seconds_count 1/)
  // The labels that were beta once lead.
  await cluster.client.patch(Node, { name: 'n1' }, { metadata: { labels: { 'topology.kubernetes.io/zone': 'wrong' } } })
  await cluster.advance({ seconds: 5 })
  assert.equal((await cluster.get(Node, '', 'n1')).metadata.labels?.['topology.kubernetes.io/zone'], 'a')
})

const mended = (cloud: SimulatedCloud) => {
  cloud.broken.clear()
  cloud.addMachine('n1')
}

const hesitant: readonly [what: string, prepare: (cloud: SimulatedCloud) => void, mend: (cloud: SimulatedCloud) => void][] = [
  ['does not know the machine yet', () => undefined, (cloud) => cloud.addMachine('n1')],
  ['does not answer', (cloud) => cloud.broken.add('metadata'), (cloud) => mended(cloud)],
  ['gives no provider ID', (cloud) => cloud.addMachine('n1', { providerId: '' }), (cloud) => cloud.addMachine('n1')],
  [
    'does not know the address of the kubelet',
    (cloud) => cloud.addMachine('n1', { addresses: [{ type: 'InternalIP', address: '10.9.9.9' }] }),
    (cloud) =>
      cloud.addMachine('n1', {
        addresses: [
          { type: 'InternalIP', address: '10.9.9.9' },
          { type: 'InternalIP', address: '10.0.0.1' },
        ],
      }),
  ],
]
for (const [what, prepare, mend] of hesitant) {
  test(`a node keeps its taint while the cloud ${what}, and loses it after that`, async () => {
    const { cluster, cloud } = await start(prepare)
    await using _ = cluster
    await addNode(cluster, 'n1', { metadata: { name: 'n1', annotations: { 'alpha.kubernetes.io/provided-node-ip': '10.0.0.1' } } })
    await cluster.advance({ minutes: 2 })
    assert.ok((await taintsOf(cluster, 'n1')).includes('cloudprovider.kubernetes.io/uninitialized'))
    mend(cloud)
    await cluster.advance({ minutes: 10 })
    assert.ok(!(await taintsOf(cluster, 'n1')).includes('cloudprovider.kubernetes.io/uninitialized'))
    assert.deepEqual((await cluster.get(Node, '', 'n1')).status?.addresses, [{ type: 'InternalIP', address: '10.0.0.1' }])
  })
}

test('a node whose machine is gone is deleted; one that is shut down is tainted until it is back; one that is ready is left alone', async () => {
  const { cluster, cloud } = await start((made) => {
    for (const name of ['down', 'gone', 'ready']) made.addMachine(name)
  })
  await using _ = cluster
  await addNode(cluster, 'down', {}, 'Unknown')
  await addNode(cluster, 'gone', {}, 'Unknown')
  await addNode(cluster, 'ready')
  await cluster.advance({ seconds: 30 })
  assert.equal((await cluster.list(Node)).length, 3)
  cloud.machines.delete('gone')
  // A cloud that lies about a node that is well.
  cloud.machines.delete('ready')
  const down = cloud.machines.get('down')
  assert.ok(down)
  down.isDown = true
  cloud.broken.add('exists')
  await cluster.advance({ seconds: 30 })
  assert.equal((await cluster.list(Node)).length, 3)
  cloud.broken.clear()
  await cluster.advance({ seconds: 10 })
  assert.deepEqual((await cluster.list(Node)).map(({ metadata }) => metadata.name).sort(), ['down', 'ready'])
  assert.ok((await taintsOf(cluster, 'down')).includes('cloudprovider.kubernetes.io/shutdown'))
  assert.deepEqual(
    (await reasons(cluster, 'gone')).filter((text) => text.startsWith('Deleting')),
    ['DeletingNode 1'],
  )
  const node = await cluster.get(Node, '', 'down')
  const conditions = (node.status?.conditions ?? []).map((condition) => ({ ...condition, status: 'True' }))
  await cluster.client.updateStatus(Node, { ...node, status: { ...node.status, conditions } })
  await cluster.advance({ seconds: 10 })
  assert.ok(!(await taintsOf(cluster, 'down')).includes('cloudprovider.kubernetes.io/shutdown'))
})

/** The story of a load balancer; returns what is left of it. */
async function balancerStory({ cluster, cloud }: Cloudy): Promise<unknown> {
  await addNode(cluster, 'n1')
  await addNode(cluster, 'n2', { metadata: { name: 'n2', labels: { 'node.kubernetes.io/exclude-from-external-load-balancers': 'true' } } })
  await cluster.create(Service, aService())
  await cluster.advance({ minutes: 2 })
  await addNode(cluster, 'n3')
  await cluster.advance({ minutes: 2 })
  const { metadata, status } = await cluster.get(Service, 'default', 'web')
  const ensured = { finalizers: metadata.finalizers, status, nodes: cloud.balancers.get('default/web')?.nodes }
  await cluster.client.delete(Service, { namespace: 'default', name: 'web' })
  await cluster.advance({ minutes: 2 })
  const isGone = (await cluster.find(Service, 'default', 'web')) === undefined
  return { ensured, isGone, balancers: [...cloud.balancers], nodes: (await cluster.list(Node)).map(({ spec }) => spec?.providerID) }
}

const storyEnd = {
  ensured: {
    finalizers: ['service.kubernetes.io/load-balancer-cleanup'],
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.1', ipMode: 'VIP' }] } },
    nodes: ['n1', 'n3'],
  },
  isGone: true,
  balancers: [],
  nodes: ['sim://n1', 'sim://n2', 'sim://n3'],
}

const machinesOfStory = (cloud: SimulatedCloud) => {
  for (const name of ['n1', 'n2', 'n3']) cloud.addMachine(name)
}

test('a service gets a load balancer that leads to all nodes but those that want none, and is gone after it', async () => {
  const cloudy = await start(machinesOfStory)
  await using _ = cloudy.cluster
  assert.deepEqual(await balancerStory(cloudy), storyEnd)
  assert.deepEqual(
    cloudy.cloud.trace.filter((step) => !step.includes('route')),
    // Each node counts when it comes, and again when it is known which machine it is.
    ['ensure default/web n1', 'update default/web n1', 'update default/web n1,n3', 'update default/web n1,n3', 'remove default/web'],
  )
  assert.match(cloudy.metrics.text(), /service_controller_loadbalancer_sync_total [1-9]/)
})

for (const how of ['refused', 'lost'] as const) {
  test(`a write that is ${how}, whichever it is, changes nothing about how the story ends`, async () => {
    const count = { writes: 0 }
    const faulty = (fault: WriteFault): FakeClusterOptions => ({ through: (transport) => failingWrite(transport, fault, count) })
    for (let at = 0, most = 1; at < most; at++) {
      count.writes = 0
      const cloudy = await start(machinesOfStory, faulty({ at, how }))
      await using _ = cloudy.cluster
      assert.deepEqual(await balancerStory(cloudy), storyEnd, `write ${at}`)
      most = count.writes
      assert.ok(most >= 5, `there were ${most} writes`)
    }
  })
}

test('a cloud that is out of capacity is asked less and less often, and users hear of it', async () => {
  const { cluster, cloud } = await start((made) => {
    machinesOfStory(made)
    made.capacity = 0
  })
  await using _ = cluster
  await addNode(cluster, 'n1')
  await cluster.create(Service, aService())
  await cluster.advance({ seconds: 40 })
  // At once, and after 5, 10 and 20 s.
  assert.deepEqual(
    (await reasons(cluster, 'web')).filter((text) => text.startsWith('Sync')),
    ['SyncLoadBalancerFailed 4'],
  )
  const event = (await cluster.list(Event, 'default')).find(({ reason }) => reason === 'SyncLoadBalancerFailed')
  assert.equal(event?.message, 'Error syncing load balancer: failed to ensure load balancer: quota exceeded')
  assert.equal(event?.source?.component, 'service-controller')
  cloud.capacity = 1
  await cluster.advance({ minutes: 5 })
  assert.equal((await cluster.get(Service, 'default', 'web')).status?.loadBalancer?.ingress?.[0]?.ip, '192.0.2.1')
})

test('a cloud that says when to ask again is asked then', async () => {
  const { cluster, cloud } = await start((made) => {
    machinesOfStory(made)
    made.capacity = 0
    made.retryAfterMs = 45_000
  })
  await using _ = cluster
  await addNode(cluster, 'n1')
  await cluster.create(Service, aService())
  await cluster.advance({ seconds: 40 })
  cloud.capacity = 1
  assert.deepEqual(
    (await reasons(cluster, 'web')).filter((text) => text.startsWith('Sync')),
    ['SyncLoadBalancerFailed 1'],
  )
  await cluster.advance({ seconds: 6 })
  assert.equal(cloud.balancers.size, 1)
})

test('a slow cloud is asked for one thing at a time by each loop', async () => {
  const cloudy = await start((made) => {
    machinesOfStory(made)
    made.delayMs = 20_000
  })
  await using _ = cloudy.cluster
  assert.deepEqual(await balancerStory(cloudy), storyEnd)
  assert.ok(cloudy.cloud.mostBusy <= 5, `${cloudy.cloud.mostBusy} at a time`)
})

test('a load balancer that cannot be told of new nodes is made anew, and users hear of it', async () => {
  const { cluster, cloud } = await start(machinesOfStory)
  await using _ = cluster
  await addNode(cluster, 'n1')
  await cluster.create(Service, aService())
  await cluster.advance({ seconds: 10 })
  cloud.broken.add('update')
  await addNode(cluster, 'n2')
  await cluster.advance({ minutes: 1 })
  assert.deepEqual(cloud.balancers.get('default/web')?.nodes, ['n1', 'n2'])
  const failed = (await cluster.list(Event, 'default')).find(({ reason }) => reason === 'UpdateLoadBalancerFailed')
  assert.equal(
    failed?.message,
    'Error updating load balancer with new hosts [n1 n2] [node names limited, total number of nodes: 2], error: the cloud does not answer update',
  )
})

test('a service that changes its type, or has a class, has no load balancer of the cloud', async () => {
  const { cluster, cloud } = await start(machinesOfStory)
  await using _ = cluster
  await addNode(cluster, 'n1')
  await cluster.create(Service, aService('other', { loadBalancerClass: 'example.com/other' }))
  await cluster.create(Service, aService())
  await cluster.advance({ seconds: 10 })
  assert.deepEqual([...cloud.balancers.keys()], ['default/web'])
  await cluster.change(Service, 'default', 'web', ({ spec }) => {
    if (spec !== undefined) spec.type = 'ClusterIP'
  })
  await cluster.advance({ seconds: 10 })
  assert.equal(cloud.balancers.size, 0)
  const { metadata, status } = await cluster.get(Service, 'default', 'web')
  assert.deepEqual([metadata.finalizers, status?.loadBalancer], [undefined, {}])
})

test('pod addresses of nodes are led to them, and the network of a node is said to be there when they are', async () => {
  const { cluster, cloud, metrics } = await start((made) => {
    machinesOfStory(made)
    made.broken.add('create')
    made.routes = [
      { name: 'old', targetNode: 'long-gone', destinationCidr: '10.244.9.0/24' },
      { name: 'foreign', targetNode: 'x', destinationCidr: '192.168.0.0/24' },
    ]
  })
  await using _ = cluster
  const network = async () => (await cluster.get(Node, '', 'n1')).status?.conditions?.find(({ type }) => type === 'NetworkUnavailable')
  await addNode(cluster, 'n1', { spec: { taints: [uninitialized], podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'] } })
  await cluster.advance({ seconds: 25 })
  assert.equal((await network())?.reason, 'NoRouteCreated')
  assert.ok((await reasons(cluster, 'n1')).some((text) => text.startsWith('FailedToCreateRoute')))
  cloud.broken.clear()
  await cluster.advance({ seconds: 25 })
  const condition = await network()
  assert.deepEqual([condition?.status, condition?.reason], ['False', 'RouteCreated'])
  assert.deepEqual(
    cloud.routes.map(({ destinationCidr, targetNode }) => [destinationCidr, targetNode]),
    [
      ['192.168.0.0/24', 'x'],
      ['10.244.1.0/24', 'n1'],
    ],
  )
  // The machine has another address now: the route is made anew.
  cloud.machines.get('n1')?.addresses.splice(0, 1, { type: 'InternalIP', address: '10.0.0.77' })
  await cluster.advance({ minutes: 6 })
  assert.deepEqual(cloud.routes[1]?.targetNodeAddresses, [{ type: 'InternalIP', address: '10.0.0.77' }])
  await cluster.client.delete(Node, { name: 'n1' })
  await cluster.advance({ seconds: 15 })
  assert.equal(cloud.routes.length, 1)
  assert.match(metrics.text(), /route_controller_route_sync_total \d/)
})
