import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReplicaSet } from '#api/apps/v1/kinds.gen.ts'
import { Endpoints, Event, Pod, Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const controllers = ['replicaset', 'endpointslice', 'endpoint', 'endpointslicemirroring', 'garbagecollector']

const aReplicaSet = (replicas: number) => ({
  metadata: { namespace: 'default', name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'main', image: 'a', ports: [{ name: 'http', containerPort: 8080 }] }] },
    },
  },
})

const aService = (spec: object = {}) => ({
  metadata: { namespace: 'default', name: 'web', labels: { team: 'shop' } },
  spec: { selector: { app: 'web' }, ports: [{ name: 'web', port: 80, targetPort: 'http' }], ...spec },
})

const slices = async (cluster: FakeCluster) =>
  (await cluster.list(EndpointSlice, 'default')).filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'web')

test('a service without pods has one empty slice; its pods come in when they are ready and leave when they end', async () => {
  await using cluster = await FakeCluster.start({ controllers })
  await cluster.create(Service, aService())
  await cluster.advance({ seconds: 1 })
  const [empty] = await slices(cluster)
  assert.deepEqual([empty?.endpoints ?? [], empty?.ports ?? []], [[], []])
  await cluster.create(ReplicaSet, aReplicaSet(3))
  await cluster.advance({ seconds: 5 })
  const [slice, ...more] = await slices(cluster)
  assert.deepEqual(more, [])
  assert.equal(slice?.metadata.uid, empty?.metadata.uid)
  assert.deepEqual(slice?.ports, [{ name: 'web', port: 8080, protocol: 'TCP' }])
  assert.deepEqual(
    slice?.endpoints?.map(({ conditions, zone }) => [conditions?.ready, typeof zone]),
    Array(3).fill([true, 'string']),
  )
  assert.deepEqual(slice?.metadata.labels, {
    team: 'shop',
    'kubernetes.io/service-name': 'web',
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
  })
  const endpoints = await cluster.get(Endpoints, 'default', 'web')
  assert.equal(endpoints.subsets?.[0]?.addresses?.length, 3)
  assert.deepEqual(endpoints.subsets?.[0]?.ports, [{ name: 'web', port: 8080, protocol: 'TCP' }])

  await cluster.change(ReplicaSet, 'default', 'web', ({ spec }) => {
    if (spec) spec.replicas = 1
  })
  await cluster.advance({ seconds: 5 })
  assert.equal((await slices(cluster))[0]?.endpoints?.length, 1)
  await cluster.client.delete(Service, { namespace: 'default', name: 'web' })
  await cluster.advance({ seconds: 5 })
  assert.deepEqual(await slices(cluster), [])
  assert.equal(await cluster.find(Endpoints, 'default', 'web'), undefined)
})

test('many endpoints are spread over slices of limited size, and a change touches few of them', async () => {
  await using cluster = await FakeCluster.start({ controllers, settings: { maxEndpointsPerSlice: 4 } })
  await cluster.create(Service, aService({ trafficDistribution: 'PreferSameZone' }))
  await cluster.create(ReplicaSet, aReplicaSet(10))
  await cluster.advance({ seconds: 5 })
  const before = await slices(cluster)
  assert.ok(before.every(({ endpoints }) => (endpoints?.length ?? 0) <= 4))
  assert.equal(
    before.reduce((sum, { endpoints }) => sum + (endpoints?.length ?? 0), 0),
    10,
  )
  assert.ok(before.every(({ endpoints }) => endpoints?.every(({ hints, zone }) => hints?.forZones?.[0]?.name === zone)))
  await cluster.change(ReplicaSet, 'default', 'web', ({ spec }) => {
    if (spec) spec.replicas = 11
  })
  await cluster.advance({ seconds: 5 })
  const after = await slices(cluster)
  assert.equal(
    after.reduce((sum, { endpoints }) => sum + (endpoints?.length ?? 0), 0),
    11,
  )
  const untouched = after.filter((slice) => before.some(({ metadata }) => metadata.resourceVersion === slice.metadata.resourceVersion))
  assert.equal(untouched.length, before.length - 1)
})

test('endpoints that a person wrote are mirrored as slices, and go with them', async () => {
  await using cluster = await FakeCluster.start({ controllers })
  await cluster.create(Service, { metadata: { namespace: 'default', name: 'web' }, spec: { ports: [{ port: 80 }] } })
  const subsets = [{ addresses: [{ ip: '192.0.2.7' }], notReadyAddresses: [{ ip: '192.0.2.8' }], ports: [{ port: 80 }] }]
  await cluster.create(Endpoints, { metadata: { namespace: 'default', name: 'web' }, subsets })
  await cluster.advance({ seconds: 2 })
  const [slice] = await slices(cluster)
  assert.equal(slice?.metadata.labels?.['endpointslice.kubernetes.io/managed-by'], 'endpointslicemirroring-controller.k8s.io')
  assert.deepEqual(
    slice?.endpoints?.map(({ addresses, conditions }) => [addresses[0], conditions?.ready]),
    [
      ['192.0.2.7', true],
      ['192.0.2.8', false],
    ],
  )
  await cluster.client.delete(Endpoints, { namespace: 'default', name: 'web' })
  await cluster.advance({ seconds: 2 })
  assert.deepEqual(await slices(cluster), [])
})

test('slices and endpoints tell when what they show had changed, and are not written for that alone', async () => {
  await using cluster = await FakeCluster.start({ controllers })
  await cluster.create(Service, aService())
  await cluster.advance({ seconds: 10 })
  const times = async () => [
    (await slices(cluster))[0]?.metadata.annotations?.['endpoints.kubernetes.io/last-change-trigger-time'],
    (await cluster.get(Endpoints, 'default', 'web')).metadata.annotations?.['endpoints.kubernetes.io/last-change-trigger-time'],
  ]
  const { creationTimestamp } = (await cluster.get(Service, 'default', 'web')).metadata
  assert.deepEqual(await times(), [creationTimestamp, creationTimestamp])
  await cluster.create(ReplicaSet, aReplicaSet(1))
  await cluster.advance({ seconds: 10 })
  const [pod] = await cluster.list(Pod, 'default')
  const changed = pod?.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime
  assert.deepEqual(await times(), [changed, changed])
  const version = (await slices(cluster))[0]?.metadata.resourceVersion
  await cluster.client.patch(Service, { namespace: 'default', name: 'web' }, { metadata: { annotations: { any: 'thing' } } })
  await cluster.advance({ seconds: 10 })
  assert.equal((await slices(cluster))[0]?.metadata.resourceVersion, version)
})

test('a pod of a node that does not exist is left out and told of until the node is there, unless all pods are wanted', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['endpointslice'] })
  await cluster.create(Service, aService())
  await cluster.create(Service, { ...aService({ publishNotReadyAddresses: true }), metadata: { namespace: 'default', name: 'all' } })
  const containers = [{ name: 'main', image: 'a', ports: [{ name: 'http', containerPort: 8080 }] }]
  const metadata = { namespace: 'default', name: 'stray', labels: { app: 'web' } }
  await cluster.create(Pod, { metadata, spec: { nodeName: 'late', containers } })
  await cluster.advance({ seconds: 5 })
  const addresses = async (service: string) =>
    (await cluster.list(EndpointSlice, 'default'))
      .filter(({ metadata: { labels } }) => labels?.['kubernetes.io/service-name'] === service)
      .flatMap(({ endpoints }) => (endpoints ?? []).flatMap((endpoint) => endpoint.addresses))
  const { podIP } = (await cluster.get(Pod, 'default', 'stray')).status ?? {}
  assert.deepEqual([await addresses('web'), await addresses('all')], [[], [podIP]])
  const told = (await cluster.list(Event, 'default')).filter(({ reason }) => reason === 'FailedToUpdateEndpointSlices')
  assert.deepEqual(
    [...new Set(told.map(({ message }) => message))],
    ['Error updating Endpoint Slices for Service default/web: skipping Pod stray for Service default/web: Node late Not Found'],
  )
  await cluster.nodes.addNode('late')
  await cluster.advance({ seconds: 5 })
  assert.deepEqual(await addresses('web'), [podIP])
})
