/** Claims in a whole cluster, in virtual time: every part as `up` starts it, with simulated nodes and volumes. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1StatefulSetPersistentVolumeClaimRetentionPolicy } from '#api/apps/v1/types.gen.ts'
import { Event, Node, PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolumeClaimSpec, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import { simulatedDriver } from '#controllers/simulated-volumes/simulated-volumes.ts'
import { Namespace, seededRandom, startCluster, VirtualClock } from '#index.ts'
import { inVirtualTime } from '../support/in-virtual-time.ts'

const clock = new VirtualClock()
let cluster: Awaited<ReturnType<typeof startCluster>>

before(async () => {
  cluster = await inVirtualTime(clock, startCluster({ clock, random: seededRandom(1), simNodes: 3 }))
  await clock.advance({ seconds: 2 })
})
after(() => inVirtualTime(clock, cluster.stop()))

const claimSpec: V1PersistentVolumeClaimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const containers = [{ name: 'main', image: 'app:1' }]

async function inNamespace(namespace: string): Promise<void> {
  await cluster.client.create(Namespace, { metadata: { name: namespace }, spec: {} })
  await clock.advance({ seconds: 1 })
}
const claimed = (...names: string[]): V1PodSpec => ({
  containers,
  terminationGracePeriodSeconds: 1,
  volumes: names.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
})
const aPod = (namespace: string, name: string, spec: V1PodSpec) => cluster.client.create(Pod, { metadata: { namespace, name }, spec })
const aClaim = (namespace: string, name: string, spec: Partial<V1PersistentVolumeClaimSpec> = {}) =>
  cluster.client.create(PersistentVolumeClaim, { metadata: { namespace, name }, spec: { ...claimSpec, ...spec } })
const phaseOf = async (namespace: string, name: string) => (await cluster.client.get(Pod, namespace, name)).status?.phase
const namesOf = (list: readonly { metadata: { name?: string } }[]) => list.map(({ metadata }) => metadata.name).sort()
const claimsIn = async (namespace: string) => namesOf((await cluster.client.list(PersistentVolumeClaim, { namespace })).items)
const volumesOf = async (namespace: string) =>
  (await cluster.client.list(PersistentVolume)).items.filter(({ spec }) => spec.claimRef?.namespace === namespace).length
const why = async (namespace: string, pod: string) =>
  (await cluster.client.list(Event, { namespace })).items
    .filter(({ involvedObject, reason }) => involvedObject.name === pod && reason === 'FailedScheduling')
    .map(({ message }) => message)
    .join('\n')

function aSet(namespace: string, policy: V1StatefulSetPersistentVolumeClaimRetentionPolicy) {
  const labels = { app: 'db' }
  return cluster.client.create(StatefulSet, {
    metadata: { namespace, name: 'db' },
    spec: {
      ...{ replicas: 3, serviceName: 'db', selector: { matchLabels: labels }, persistentVolumeClaimRetentionPolicy: policy },
      template: { metadata: { labels }, spec: { containers, terminationGracePeriodSeconds: 1 } },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec }],
    },
  })
}
const scale = (namespace: string, replicas: number) =>
  cluster.client.patch(StatefulSet, { namespace, name: 'db' }, { spec: { replicas } }, { type: 'merge' })

for (const [namespace, policy, scaled, deleted] of [
  ['keeps', { whenScaled: 'Retain', whenDeleted: 'Retain' }, 3, 3],
  ['scales', { whenScaled: 'Delete', whenDeleted: 'Retain' }, 1, 1],
  ['drops', { whenScaled: 'Retain', whenDeleted: 'Delete' }, 3, 0],
  ['both', { whenScaled: 'Delete', whenDeleted: 'Delete' }, 1, 0],
] as const) {
  test(`a stateful set whose claims ${namespace}: ${scaled} are left after scaling to one, ${deleted} after it is gone, with their volumes`, async () => {
    await inNamespace(namespace)
    await aSet(namespace, policy)
    await clock.advance({ seconds: 60 })
    for (const ordinal of [0, 1, 2]) assert.equal(await phaseOf(namespace, `db-${ordinal}`), 'Running')
    assert.deepEqual(await claimsIn(namespace), ['data-db-0', 'data-db-1', 'data-db-2'])
    const nodes = (await cluster.client.list(Node)).items.flatMap(({ status }) => status?.volumesInUse ?? [])
    assert.ok(nodes.length >= 3, 'the nodes say what they use')
    await scale(namespace, 1)
    await clock.advance({ minutes: 2 })
    assert.deepEqual(await claimsIn(namespace), ['data-db-0', 'data-db-1', 'data-db-2'].slice(0, scaled))
    assert.equal(await volumesOf(namespace), scaled)
    await cluster.client.delete(StatefulSet, { namespace, name: 'db' })
    await clock.advance({ minutes: 2 })
    assert.equal((await claimsIn(namespace)).length, deleted)
    assert.equal(await volumesOf(namespace), deleted)
    await cluster.client.delete(Namespace, { name: namespace })
    await clock.advance({ minutes: 2 })
    assert.equal(await volumesOf(namespace), 0)
    assert.deepEqual((await cluster.client.list(VolumeAttachment)).items, [])
  })
}

test('a claim that waits for its first pod is made where the pod goes', async () => {
  await inNamespace('late')
  await cluster.client.create(StorageClass, {
    metadata: { name: 'late' },
    provisioner: simulatedDriver,
    parameters: { 'on-one-node': 'true', 'provision-time': '5s', 'attach-time': '5s' },
    volumeBindingMode: 'WaitForFirstConsumer',
  })
  await aClaim('late', 'data', { storageClassName: 'late' })
  await clock.advance({ seconds: 30 })
  assert.equal((await cluster.client.get(PersistentVolumeClaim, 'late', 'data')).status?.phase, 'Pending')
  await aPod('late', 'web', claimed('data'))
  await clock.advance({ seconds: 8 })
  assert.notEqual(await phaseOf('late', 'web'), 'Running', 'the volume is not attached yet')
  await clock.advance({ seconds: 10 })
  assert.equal(await phaseOf('late', 'web'), 'Running')
  const { spec } = await cluster.client.get(Pod, 'late', 'web')
  const claim = await cluster.client.get(PersistentVolumeClaim, 'late', 'data')
  assert.equal(claim.metadata.annotations?.['volume.kubernetes.io/selected-node'], spec.nodeName)
  // Whoever comes next goes where the volume is.
  await aPod('late', 'next', claimed('data'))
  await clock.advance({ seconds: 10 })
  assert.equal((await cluster.client.get(Pod, 'late', 'next')).spec.nodeName, spec.nodeName)
  const elsewhere = (await cluster.client.list(Node)).items.find(({ metadata }) => metadata.name !== spec.nodeName)?.metadata.name ?? ''
  await aPod('late', 'stray', { ...claimed('data'), nodeSelector: { 'kubernetes.io/hostname': elsewhere } })
  await clock.advance({ seconds: 5 })
  assert.match(await why('late', 'stray'), /didn't match PersistentVolume's node affinity/)
})

test('a claim for one pod alone is not given to two', async () => {
  await inNamespace('alone')
  await aClaim('alone', 'data', { accessModes: ['ReadWriteOncePod'] })
  await aPod('alone', 'one', claimed('data'))
  await clock.advance({ seconds: 10 })
  await aPod('alone', 'two', claimed('data'))
  await clock.advance({ seconds: 10 })
  assert.equal(await phaseOf('alone', 'one'), 'Running')
  assert.match(await why('alone', 'two'), /PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod/)
  await cluster.client.delete(Pod, { namespace: 'alone', name: 'one' })
  await clock.advance({ minutes: 1 })
  assert.equal(await phaseOf('alone', 'two'), 'Running')
})

test('a node takes no more volumes than its driver allows, and none without room for them', async () => {
  await inNamespace('limits')
  await cluster.client.create(CSIDriver, {
    metadata: { name: 'small.example.com' },
    spec: { attachRequired: false, storageCapacity: true },
  })
  const nodes = (await cluster.client.list(Node)).items
  for (const { metadata } of nodes) {
    const drivers = [
      { name: 'small.example.com', nodeID: metadata.name ?? '', topologyKeys: ['kubernetes.io/hostname'], allocatable: { count: 1 } },
    ]
    await cluster.client.create(CSINode, { metadata: { name: metadata.name ?? '' }, spec: { drivers } })
  }
  await cluster.client.create(StorageClass, {
    metadata: { name: 'small' },
    provisioner: 'small.example.com',
    volumeBindingMode: 'WaitForFirstConsumer',
  })
  const csi = (volumeHandle: string) => ({ csi: { driver: 'small.example.com', volumeHandle } })
  const capacity = { storage: '1Gi' }
  for (const name of ['a', 'b']) {
    const spec = {
      ...csi(name),
      capacity,
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'manual',
      persistentVolumeReclaimPolicy: 'Retain',
    }
    await cluster.client.create(PersistentVolume, { metadata: { name: `limits-${name}` }, spec })
    await aClaim('limits', name, { storageClassName: 'manual', volumeName: `limits-${name}` })
  }
  await clock.advance({ seconds: 5 })
  const nodeSelector = { 'kubernetes.io/hostname': nodes[0]?.metadata.name ?? '' }
  await aPod('limits', 'first', { ...claimed('a'), nodeSelector })
  await clock.advance({ seconds: 10 })
  assert.equal(await phaseOf('limits', 'first'), 'Running')
  await aPod('limits', 'second', { ...claimed('b'), nodeSelector })
  await clock.advance({ seconds: 5 })
  assert.match(await why('limits', 'second'), /exceed max volume count/)
  await aClaim('limits', 'big', { storageClassName: 'small', resources: { requests: { storage: '10Gi' } } })
  await aPod('limits', 'third', claimed('big'))
  await clock.advance({ seconds: 5 })
  assert.match(await why('limits', 'third'), /did not have enough free storage/)
  const place = { matchLabels: { 'kubernetes.io/hostname': nodes[1]?.metadata.name ?? '' } }
  await cluster.client.create(CSIStorageCapacity, {
    ...{ metadata: { namespace: 'limits', name: 'room' }, storageClassName: 'small', capacity: '100Gi', nodeTopology: place },
  })
  await clock.advance({ seconds: 30 })
  const claim = await cluster.client.get(PersistentVolumeClaim, 'limits', 'big')
  assert.equal(claim.metadata.annotations?.['volume.kubernetes.io/selected-node'], nodes[1]?.metadata.name)
})

test('a volume that lives as long as its pod', async () => {
  await inNamespace('brief')
  const volumes = [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: claimSpec } } }]
  await aPod('brief', 'web', { containers, terminationGracePeriodSeconds: 1, volumes })
  await clock.advance({ seconds: 20 })
  assert.equal(await phaseOf('brief', 'web'), 'Running')
  assert.deepEqual(await claimsIn('brief'), ['web-scratch'])
  await cluster.client.delete(Pod, { namespace: 'brief', name: 'web' })
  await clock.advance({ minutes: 2 })
  assert.deepEqual(await claimsIn('brief'), [])
  assert.equal(await volumesOf('brief'), 0)
})

test('pods of a node that is out of service move on with their volumes', async () => {
  await inNamespace('moves')
  await aSet('moves', { whenDeleted: 'Delete' })
  await clock.advance({ minutes: 1 })
  const { spec } = await cluster.client.get(Pod, 'moves', 'db-0')
  const before = (await cluster.client.get(PersistentVolumeClaim, 'moves', 'data-db-0')).spec.volumeName
  const taints = [{ key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' }]
  await cluster.client.patch(Node, { name: spec.nodeName }, { spec: { taints } }, { type: 'merge' })
  await clock.advance({ minutes: 2 })
  const moved = await cluster.client.get(Pod, 'moves', 'db-0')
  assert.notEqual(moved.spec.nodeName, spec.nodeName)
  assert.equal(moved.status?.phase, 'Running')
  assert.equal((await cluster.client.get(PersistentVolumeClaim, 'moves', 'data-db-0')).spec.volumeName, before)
  const attached = (await cluster.client.list(VolumeAttachment)).items.filter(
    ({ spec: { source } }) => source.persistentVolumeName === before,
  )
  assert.deepEqual(
    attached.map((attachment) => attachment.spec.nodeName),
    [moved.spec.nodeName],
  )
  await cluster.client.patch(Node, { name: spec.nodeName }, { spec: { taints: null } }, { type: 'merge' })
})
