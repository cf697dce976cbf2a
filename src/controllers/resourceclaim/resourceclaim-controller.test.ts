import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Event, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import { ResourceClaim, ResourceClaimTemplate } from '#api/resource/v1/kinds.gen.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { FakeCluster, type FakeClusterOptions } from '#testing/fake-cluster.ts'
import { calm, faultyTransport } from '#testing/faulty-transport.ts'

const namespace = 'default'
const devices = { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } }] }
const rough = { fails: 0.3, losesAnswer: 0.2, repeats: 0, delays: 0.2, cutsWatch: 0.1 }

const start = (options: FakeClusterOptions = {}) =>
  FakeCluster.start({ withoutNodes: true, controllers: ['resource-claim-controller'], ...options })
const spec = (more: Partial<V1PodSpec> = {}): V1PodSpec => ({
  containers: [{ name: 'main', image: 'a' }],
  resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'gpus' }],
  ...more,
})
const addTemplate = (cluster: FakeCluster) =>
  cluster.create(ResourceClaimTemplate, {
    metadata: { namespace, name: 'gpus' },
    spec: { metadata: { labels: { team: 'red' } }, spec: { devices } },
  })
const addPod = (cluster: FakeCluster, name: string, podSpec = spec()) =>
  cluster.create(Pod, { metadata: { namespace, name }, spec: podSpec })

/** As the scheduler does. */
async function allocate(cluster: FakeCluster, name: string, reservedFor: { name: string; uid: string }[]) {
  const finalizer = 'resource.kubernetes.io/delete-protection'
  const claim = await cluster.get(ResourceClaim, namespace, name)
  if (!claim.metadata.finalizers?.includes(finalizer))
    await cluster.change(ResourceClaim, namespace, name, ({ metadata }) => void Object.assign(metadata, { finalizers: [finalizer] }))
  const protectedClaim = await cluster.get(ResourceClaim, namespace, name)
  const consumers = reservedFor.map((pod) => ({ resource: 'pods', ...pod }))
  const result = { request: 'gpu', driver: 'gpu.example.com', pool: 'p', device: 'd' }
  const status = { allocation: { devices: { results: [result] } }, ...omitEmpty({ reservedFor: consumers }) }
  await cluster.client.updateStatus(ResourceClaim, { ...protectedClaim, status })
}

async function finish(cluster: FakeCluster, name: string) {
  const pod = await cluster.get(Pod, namespace, name)
  await cluster.client.updateStatus(Pod, { ...pod, status: { ...pod.status, phase: 'Succeeded' } })
}

test('a pod gets the claim its template describes, once, and its status tells the name; also where requests fail', async () => {
  await using cluster = await start({ through: (transport, parts) => faultyTransport(transport, parts, rough) })
  await addTemplate(cluster)
  for (const name of ['a', 'b', 'c', 'd']) await addPod(cluster, name)
  await cluster.advance({ minutes: 20 })
  const claims = await cluster.list(ResourceClaim, namespace)
  assert.equal(claims.length, 4)
  for (const name of ['a', 'b', 'c', 'd']) {
    const pod = await cluster.get(Pod, namespace, name)
    const claim = claims.find(({ metadata }) => metadata.ownerReferences?.[0]?.uid === pod.metadata.uid)
    assert.deepEqual(pod.status?.resourceClaimStatuses, [{ name: 'gpu', resourceClaimName: claim?.metadata.name }])
    assert.match(claim?.metadata.name ?? '', new RegExp(`^${name}-gpu-[a-z0-9]{5}$`))
    assert.deepEqual(claim?.metadata.labels, { team: 'red' })
    assert.deepEqual(claim?.metadata.annotations, { 'resource.kubernetes.io/pod-claim-name': 'gpu' })
    assert.equal(claim?.spec.devices?.requests?.[0]?.exactly?.deviceClassName, 'gpu.example.com')
  }
})

test('a template that is missing is told by an event, and the claim is made when it comes; a claim that was deleted is made again', async () => {
  await using cluster = await start()
  await addPod(cluster, 'a')
  await cluster.advance({ seconds: 5 })
  const event = (await cluster.list(Event, namespace)).find(({ reason }) => reason === 'FailedResourceClaimCreation')
  assert.equal(
    event?.message,
    'PodResourceClaim gpu: resource claim template "gpus": resourceclaimtemplate.resource.k8s.io "gpus" not found',
  )
  assert.equal(event?.type, 'Warning')
  await addTemplate(cluster)
  await cluster.advance({ seconds: 1 })
  const [claim] = await cluster.list(ResourceClaim, namespace)
  await cluster.client.delete(ResourceClaim, { namespace, name: claim?.metadata.name ?? '' })
  await cluster.advance({ seconds: 5 })
  const [again] = await cluster.list(ResourceClaim, namespace)
  assert.ok(again && again.metadata.uid !== claim?.metadata.uid)
  assert.equal((await cluster.get(Pod, namespace, 'a')).status?.resourceClaimStatuses?.[0]?.resourceClaimName, again.metadata.name)
})

test('a pod that somebody put on a node gets its allocated claim reserved', async () => {
  await using cluster = await start()
  await cluster.create(ResourceClaim, { metadata: { namespace, name: 'shared' }, spec: { devices } })
  await allocate(cluster, 'shared', [])
  const resourceClaims = [{ name: 'gpu', resourceClaimName: 'shared' }]
  const pod = await addPod(cluster, 'a', spec({ nodeName: 'n1', resourceClaims }))
  await addPod(cluster, 'unscheduled', spec({ resourceClaims }))
  await cluster.advance({ seconds: 1 })
  assert.deepEqual((await cluster.get(ResourceClaim, namespace, 'shared')).status?.reservedFor, [
    { resource: 'pods', name: 'a', uid: pod.metadata.uid },
  ])
})

for (const [how, rates] of [
  ['', { ...calm }],
  [', also where requests fail', { ...rough }],
] as const) {
  test(`what pods no longer need is taken back: reservation, allocation, and the claim if it was made for them${how}`, async () => {
    const storm = { ...rates }
    const through: FakeClusterOptions['through'] = (transport, parts) => faultyTransport(transport, parts, storm)
    await using cluster = await start({ through })
    /** What failed is tried again, at the latest after the longest back-off. */
    const settle = async () => {
      await cluster.advance({ minutes: 5 })
      Object.assign(storm, calm)
      await cluster.advance({ minutes: 20 })
      Object.assign(storm, rates)
    }
    await addTemplate(cluster)
    const first = await addPod(cluster, 'first')
    const second = await addPod(cluster, 'second')
    await cluster.create(ResourceClaim, { metadata: { namespace, name: 'shared' }, spec: { devices } })
    await settle()
    const made = (await cluster.get(Pod, namespace, 'first')).status?.resourceClaimStatuses?.[0]?.resourceClaimName ?? ''
    const consumer = ({ metadata }: typeof first) => ({ name: metadata.name ?? '', uid: metadata.uid ?? '' })
    await allocate(cluster, made, [consumer(first)])
    await allocate(cluster, 'shared', [consumer(second), { name: 'never-there', uid: 'gone' }])
    await settle()
    const shared = () => cluster.get(ResourceClaim, namespace, 'shared')
    assert.deepEqual(
      (await shared()).status?.reservedFor?.map(({ name }) => name),
      ['second'],
    )
    assert.ok((await shared()).status?.allocation)
    await finish(cluster, 'first')
    await settle()
    assert.equal(await cluster.find(ResourceClaim, namespace, made), undefined)
    await cluster.client.delete(Pod, { namespace, name: 'second' })
    await cluster.client.patch(ResourceClaim, { namespace, name: 'shared' }, { metadata: { labels: { x: 'y' } } })
    await settle()
    assert.deepEqual([(await shared()).status?.reservedFor, (await shared()).status?.allocation], [undefined, undefined])
    // A protection that could not be taken off stays until the claim is to go: the scheduler may have put on another.
    if (rates.fails === 0) assert.equal((await shared()).metadata.finalizers, undefined)
    await cluster.client.delete(ResourceClaim, { namespace, name: 'shared' })
    await settle()
    assert.equal(await cluster.find(ResourceClaim, namespace, 'shared'), undefined)
  })
}

test('a claim that is deleted while nobody uses it goes, allocated or not', async () => {
  await using cluster = await start()
  await cluster.create(ResourceClaim, { metadata: { namespace, name: 'idle' }, spec: { devices } })
  await allocate(cluster, 'idle', [])
  await cluster.client.delete(ResourceClaim, { namespace, name: 'idle' })
  await cluster.advance({ seconds: 1 })
  assert.equal(await cluster.find(ResourceClaim, namespace, 'idle'), undefined)
})
