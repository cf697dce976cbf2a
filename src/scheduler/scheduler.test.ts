import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeCluster } from '#scheduler/testing/fake-cluster.ts'
import { aNode, aPod, byLabel } from '#scheduler/testing/objects.ts'

test('a pod is bound to the node that has room, and told so', async () => {
  await using cluster = new FakeCluster()
  cluster.put('Node', aNode('small', { cpu: '1' }), aNode('large', { cpu: '8' }))
  cluster.put('Pod', aPod('p', { cpu: '2' }))
  await cluster.settle()
  assert.deepEqual(cluster.placements(), { p: 'large' })
  assert.deepEqual(cluster.notes('Scheduled'), ['Successfully assigned default/p to large'])
  assert.deepEqual(cluster.scheduler.cache.sizes, { nodes: 2, pods: 1, assumed: 0 })
})

test('a pod that fits nowhere is told why, and placed once a node comes that it fits', async () => {
  await using cluster = new FakeCluster()
  const taints = [{ key: 'gpu', effect: 'NoSchedule' }]
  cluster.put('Node', aNode('a', { cpu: '1' }), aNode('b', { cpu: '1' }), aNode('c', { taints }))
  cluster.put('Pod', aPod('p', { cpu: '2' }))
  await cluster.settle()
  const message =
    '0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. ' +
    'no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.'
  assert.deepEqual(cluster.notes('FailedScheduling'), [message])
  const { conditions } = cluster.pod('p').status ?? {}
  assert.deepEqual(conditions, [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }])

  cluster.put('Node', aNode('d', { cpu: '1', taints }))
  await cluster.settle()
  assert.equal(cluster.events.length, 1, 'a node that does not help wakes nobody')
  cluster.put('Node', aNode('e', { cpu: '4' }))
  await cluster.settle()
  assert.deepEqual(cluster.placements(), { p: 'e' })
})

test('without nodes pods wait for the first', async () => {
  await using cluster = new FakeCluster()
  cluster.put('Pod', aPod('p'))
  await cluster.settle()
  assert.deepEqual(cluster.notes('FailedScheduling'), ['no nodes available to schedule pods'])
  cluster.put('Node', aNode('a'))
  await cluster.settle()
  assert.deepEqual(cluster.placements(), { p: 'a' })
})

test('a gated pod is not tried until its gates are gone', async () => {
  await using cluster = new FakeCluster()
  cluster.put('Node', aNode('a'))
  const gated = aPod('p', { spec: { schedulingGates: [{ name: 'example.com/wait' }] } })
  cluster.put('Pod', gated)
  await cluster.clock.advance({ minutes: 30 })
  assert.deepEqual(cluster.placements(), { p: undefined })
  assert.equal(cluster.events.length, 0)
  assert.equal(cluster.scheduler.queue.sizes.gated, 1)
  cluster.put('Pod', { ...gated, spec: { ...gated.spec, schedulingGates: [] } })
  await cluster.settle()
  assert.deepEqual(cluster.placements(), { p: 'a' })
})

test('an important pod takes the place of the least important ones', async () => {
  await using cluster = new FakeCluster()
  cluster.deletesGracefully = true
  cluster.put('Node', aNode('a', { cpu: '4' }), aNode('b', { cpu: '4' }))
  cluster.put('Pod', aPod('mid', { cpu: '4', priority: 50, on: 'a' }), aPod('low', { cpu: '4', priority: 10, on: 'b' }))
  cluster.put('Pod', aPod('high', { cpu: '4', priority: 100 }))
  await cluster.settle()
  assert.equal(cluster.pod('high').status?.nominatedNodeName, 'b')
  assert.ok(cluster.pod('low').metadata.deletionTimestamp)
  assert.equal(cluster.pod('low').status?.conditions?.[0]?.reason, 'PreemptionByScheduler')
  assert.deepEqual(cluster.notes('Preempted'), ['Preempted by pod default-high on node b'])

  cluster.put('Pod', aPod('opportunist', { cpu: '4', priority: 60 }))
  await cluster.settle()
  cluster.finishDeleting()
  await cluster.clock.advance({ seconds: 20 })
  assert.equal(cluster.placements()['high'], 'b', 'the room is kept for the one it was promised to')
})

test('preemption goes on in a chain until the least important pod is the one that waits', async () => {
  await using cluster = new FakeCluster()
  cluster.put('Node', aNode('a', { cpu: '4' }), aNode('b', { cpu: '4' }))
  for (const [index, priority] of [1, 2, 3, 4, 5].entries()) {
    cluster.put('Pod', aPod(`p${priority}`, { cpu: '4', priority: priority * 10 }))
    await cluster.clock.advance({ seconds: 20 * (index + 1) })
  }
  assert.deepEqual(Object.keys(cluster.placements()).toSorted(), ['p4', 'p5'])
  assert.deepEqual(new Set(Object.values(cluster.placements())), new Set(['a', 'b']))
})

test('a pod that must not preempt waits', async () => {
  await using cluster = new FakeCluster()
  cluster.put('Node', aNode('a', { cpu: '4' }))
  cluster.put('Pod', aPod('low', { cpu: '4', on: 'a' }), aPod('high', { cpu: '4', priority: 10, spec: { preemptionPolicy: 'Never' } }))
  await cluster.settle()
  assert.deepEqual(cluster.notes('FailedScheduling'), [
    '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.',
  ])
})

test('disruption budgets are respected while there is another way', async () => {
  await using cluster = new FakeCluster()
  cluster.put('PodDisruptionBudget', {
    metadata: { name: 'b', namespace: 'default' },
    spec: { selector: { matchLabels: { app: 'db' } } },
    status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  })
  cluster.put('Node', aNode('a', { cpu: '4' }), aNode('b', { cpu: '4' }))
  cluster.put('Pod', aPod('db', { cpu: '4', labels: { app: 'db' }, on: 'a' }), aPod('web', { cpu: '4', priority: 5, on: 'b' }))
  cluster.put('Pod', aPod('high', { cpu: '4', priority: 100 }))
  await cluster.settle()
  assert.deepEqual(cluster.placements(), { db: 'a', high: 'b' })
})

test('a node that vanishes between the choice and the binding costs the pod nothing but time', async () => {
  await using cluster = new FakeCluster()
  cluster.put('Node', aNode('a', { cpu: '8' }), aNode('b', { cpu: '2' }))
  cluster.beforeBind = (_, nodeName) => {
    if (nodeName !== 'a') return
    cluster.remove('Node', 'a')
    throw new Error('nodes "a" not found')
  }
  cluster.put('Pod', aPod('p', { cpu: '1' }))
  await cluster.settle()
  assert.deepEqual(cluster.placements(), { p: undefined })
  assert.equal(cluster.pod('p').status?.conditions?.[0]?.reason, 'SchedulerError')
  await cluster.clock.advance({ seconds: 2 })
  assert.deepEqual(cluster.placements(), { p: 'b' })
})

test('a binding that fails gives the room back, and is tried again after longer and longer waits', async () => {
  await using cluster = new FakeCluster()
  cluster.put('Node', aNode('a', { cpu: '2' }))
  const attemptsMs: number[] = []
  cluster.beforeBind = () => {
    attemptsMs.push(cluster.clock.monotonic())
    if (attemptsMs.length < 6) throw new Error('etcdserver: request timed out')
  }
  cluster.put('Pod', aPod('p', { cpu: '2' }))
  await cluster.clock.advance({ seconds: 60 })
  assert.deepEqual(cluster.placements(), { p: 'a' })
  const waits = attemptsMs.slice(1).map((at, index) => (at - (attemptsMs[index] as number)) / 1000)
  assert.deepEqual(waits, [1, 2, 4, 8, 10])
})

test('a pod that is deleted while it is being bound leaves nothing behind', async () => {
  await using cluster = new FakeCluster()
  cluster.put('Node', aNode('a', { cpu: '2' }))
  cluster.beforeBind = (pod) => {
    cluster.beforeBind = () => {}
    cluster.remove('Pod', pod.metadata.name ?? '', 'default')
  }
  cluster.put('Pod', aPod('p', { cpu: '2' }))
  await cluster.clock.advance({ seconds: 30 })
  assert.deepEqual(cluster.scheduler.cache.sizes, { nodes: 1, pods: 0, assumed: 0 })
  assert.equal(cluster.scheduler.queue.has('default-p'), false)
})

test('pods spread evenly over zones', async () => {
  await using cluster = new FakeCluster()
  for (const zone of ['x', 'y', 'z']) for (const index of [1, 2, 3]) cluster.put('Node', aNode(`${zone}${index}`, { zone }))
  const topologySpreadConstraints = [
    {
      topologyKey: 'topology.kubernetes.io/zone',
      maxSkew: 1,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
    },
  ]
  for (let index = 0; index < 10; index++)
    cluster.put('Pod', aPod(`p${index}`, { labels: { app: 'web' }, spec: { topologySpreadConstraints } }))
  await cluster.settle()
  const zones = Object.values(cluster.placements()).map((node) => node?.[0])
  const counts = ['x', 'y', 'z'].map((zone) => zones.filter((each) => each === zone).length).toSorted()
  assert.deepEqual(counts, [3, 3, 4])
})

test('pods that must be apart wait until the one that is in the way is gone', async () => {
  await using cluster = new FakeCluster()
  cluster.put('Node', aNode('a', { zone: 'x' }), aNode('b', { zone: 'y' }))
  const apart = { labels: { app: 'db' }, apartFrom: byLabel({ app: 'db' }) }
  cluster.put('Pod', aPod('p1', apart), aPod('p2', apart), aPod('p3', apart))
  await cluster.settle()
  assert.equal(Object.values(cluster.placements()).filter(Boolean).length, 2)
  assert.deepEqual(cluster.notes('FailedScheduling'), [
    "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.",
  ])
  cluster.remove('Pod', 'p1', 'default')
  await cluster.settle()
  assert.deepEqual(new Set(Object.values(cluster.placements())), new Set(['a', 'b']))
})

test('a claim that waits for its first consumer is bound on the node of the pod', async () => {
  await using cluster = new FakeCluster()
  cluster.put('Node', aNode('a', { zone: 'x' }), aNode('b', { zone: 'y' }))
  cluster.put('StorageClass', {
    metadata: { name: 'late' },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  })
  cluster.put('PersistentVolumeClaim', {
    metadata: { name: 'data', namespace: 'default', uid: 'c1' },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'late', resources: { requests: { storage: '1Gi' } } },
    status: { phase: 'Pending' },
  })
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
  cluster.put('Pod', aPod('p', { spec: { volumes } }))
  await cluster.settle()
  assert.match(
    cluster.notes('FailedScheduling')[0] ?? '',
    /^0\/2 nodes are available: 2 node\(s\) didn't find available persistent volumes to bind\./,
  )

  const matchExpressions = [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['y'] }]
  cluster.put('PersistentVolume', {
    metadata: { name: 'disk', uid: 'v1' },
    spec: {
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'late',
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
    },
    status: { phase: 'Available' },
  })
  await cluster.settle()
  assert.equal(cluster.get('PersistentVolume', '', 'disk')?.spec?.claimRef?.uid, 'c1')
  assert.deepEqual(cluster.placements(), { p: undefined }, 'the controller has not bound the claim yet')
  assert.equal(cluster.pod('p').status?.nominatedNodeName, 'b', 'where it goes is known already')
  const claim = cluster.get('PersistentVolumeClaim', 'default', 'data')
  cluster.put('PersistentVolumeClaim', {
    ...claim,
    metadata: { ...claim?.metadata, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec: { ...claim?.spec, volumeName: 'disk' },
  })
  await cluster.settle()
  assert.deepEqual(cluster.placements(), { p: 'b' })
})

test('a storm of one namespace does not keep the others waiting longer than their turn', async () => {
  await using cluster = new FakeCluster()
  const bound: string[] = []
  cluster.beforeBind = ({ metadata }) => {
    bound.push(metadata.namespace ?? '')
  }
  cluster.put('Node', aNode('a', { cpu: '1000', memory: '1000Gi', pods: '10000' }))
  for (let index = 0; index < 50; index++) cluster.put('Pod', aPod(`s${index}`, { namespace: 'storm' }))
  cluster.put('Pod', aPod('quiet', { namespace: 'quiet' }))
  for (let index = 50; index < 200; index++) cluster.put('Pod', aPod(`s${index}`, { namespace: 'storm' }))
  await cluster.settle()
  assert.equal(bound.indexOf('quiet'), 50)
})

test('pods of a scheduler that is not ours are left alone', async () => {
  await using cluster = new FakeCluster({
    configuration: { profiles: [{ schedulerName: 'default-scheduler' }, { schedulerName: 'second' }] },
  })
  cluster.put('Node', aNode('a'))
  cluster.put('Pod', aPod('one'), aPod('two', { spec: { schedulerName: 'second' } }), aPod('three', { spec: { schedulerName: 'third' } }))
  await cluster.settle()
  assert.deepEqual(cluster.placements(), { one: 'a', two: 'a', three: undefined })
})
