import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1StatefulSet, V1StatefulSetSpec } from '#api/apps/v1/types.gen.ts'
import { PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import { FakeCluster, type FakeClusterOptions } from '#testing/fake-cluster.ts'

const controllers = ['statefulset', 'garbagecollector']

const aSet = (spec: Partial<V1StatefulSetSpec> = {}): V1StatefulSet => ({
  metadata: { namespace: 'default', name: 'db' },
  spec: {
    replicas: 3,
    serviceName: 'db',
    selector: { matchLabels: { app: 'db' } },
    template: { metadata: { labels: { app: 'db' } }, spec: { containers: [{ name: 'main', image: 'db:1' }] } },
    ...spec,
  },
})

const withClaims: Partial<V1StatefulSetSpec> = {
  volumeClaimTemplates: [
    { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
  ],
}

async function started(spec: Partial<V1StatefulSetSpec>, options: FakeClusterOptions = {}): Promise<FakeCluster> {
  const cluster = await FakeCluster.start({ controllers, ...options })
  await cluster.create(StatefulSet, aSet(spec))
  return cluster
}

const names = async (cluster: FakeCluster) =>
  (await cluster.list(Pod, 'default'))
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name)
const images = async (cluster: FakeCluster) =>
  (await cluster.list(Pod, 'default')).map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image}`)
const change = (cluster: FakeCluster, spec: Partial<V1StatefulSetSpec>) =>
  cluster.change(StatefulSet, 'default', 'db', (set) => void Object.assign(set.spec ?? {}, spec))
const setImage = (cluster: FakeCluster, image: string) =>
  cluster.change(StatefulSet, 'default', 'db', ({ spec }) => void Object.assign(spec?.template.spec?.containers[0] ?? {}, { image }))

test('pods come one after the other, with names and claims of their own, and go in the opposite order', async () => {
  await using cluster = await started(withClaims)
  const seen: string[][] = []
  for (let step = 0; step < 50; step++) {
    await cluster.advance(200)
    const now = (await names(cluster)) as string[]
    if (JSON.stringify(now) !== JSON.stringify(seen.at(-1))) seen.push(now)
  }
  assert.deepEqual(seen, [['db-0'], ['db-0', 'db-1'], ['db-0', 'db-1', 'db-2']])
  const [first] = await cluster.list(Pod, 'default')
  assert.equal(first?.spec.hostname, 'db-0')
  assert.equal(first?.metadata.labels?.['apps.kubernetes.io/pod-index'], '0')
  assert.equal(first?.spec.volumes?.find(({ name }) => name === 'data')?.persistentVolumeClaim?.claimName, 'data-db-0')
  const { status } = await cluster.get(StatefulSet, 'default', 'db')
  assert.deepEqual([status?.readyReplicas, status?.availableReplicas, status?.currentRevision], [3, 3, status?.updateRevision])
  await change(cluster, { replicas: 1 })
  await cluster.advance(500)
  assert.deepEqual(await names(cluster), ['db-0', 'db-1'])
  await cluster.advance({ seconds: 10 })
  assert.deepEqual(await names(cluster), ['db-0'])
  assert.equal((await cluster.list(PersistentVolumeClaim, 'default')).length, 3)
})

test('a broken pod in the middle keeps those after it waiting', async () => {
  let isBroken = true
  await using cluster = await started({}, { fateOf: ({ metadata }) => (isBroken && metadata.name === 'db-1' ? 'hangs' : 'runs') })
  await cluster.advance({ minutes: 2 })
  assert.deepEqual(await names(cluster), ['db-0', 'db-1'])
  isBroken = false
  await cluster.client.delete(Pod, { namespace: 'default', name: 'db-1' })
  await cluster.advance({ seconds: 20 })
  assert.deepEqual(await names(cluster), ['db-0', 'db-1', 'db-2'])
})

test('in parallel all pods come at once', async () => {
  await using cluster = await started({ podManagementPolicy: 'Parallel', ordinals: { start: 5 } })
  await cluster.advance(500)
  assert.deepEqual(await names(cluster), ['db-5', 'db-6', 'db-7'])
})

test('more replicas than anybody can have are begun with, in order or in parallel', async () => {
  for (const podManagementPolicy of ['OrderedReady', 'Parallel']) {
    await using cluster = await started({ podManagementPolicy, replicas: 2 ** 31 - 1, ordinals: { start: 7 } }, { fateOf: () => 'hangs' })
    await cluster.advance(100)
    const made = await names(cluster)
    assert.equal(made.includes('db-7'), true)
    if (podManagementPolicy === 'OrderedReady') assert.equal(made.length, 1)
    else assert.ok(made.length >= 500 && made.length % 500 === 0, String(made.length))
    await change(cluster, { replicas: 0 })
    await cluster.advance({ seconds: 60 })
    assert.deepEqual(await names(cluster), [])
  }
})

test('a roll goes from the last pod down to the partition, and on when the partition moves', async () => {
  await using cluster = await started({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } })
  await cluster.advance({ seconds: 10 })
  await setImage(cluster, 'db:2')
  await cluster.advance({ seconds: 20 })
  assert.deepEqual(await images(cluster), ['db-0 db:1', 'db-1 db:1', 'db-2 db:2'])
  await cluster.client.delete(Pod, { namespace: 'default', name: 'db-0' })
  await cluster.advance({ seconds: 10 })
  // Below the partition pods come back as they were.
  assert.deepEqual(await images(cluster), ['db-0 db:1', 'db-1 db:1', 'db-2 db:2'])
  const middle = (await cluster.get(StatefulSet, 'default', 'db')).status
  assert.notEqual(middle?.currentRevision, middle?.updateRevision)
  await change(cluster, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } } })
  await cluster.advance({ seconds: 30 })
  assert.deepEqual(await images(cluster), ['db-0 db:2', 'db-1 db:2', 'db-2 db:2'])
  const after = (await cluster.get(StatefulSet, 'default', 'db')).status
  assert.equal(after?.currentRevision, after?.updateRevision)
})

test('claims go with the pods that are scaled away, and with the set, when the policy says so', async () => {
  await using cluster = await started({
    ...withClaims,
    persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete', whenDeleted: 'Delete' },
  })
  await cluster.advance({ seconds: 15 })
  await change(cluster, { replicas: 2 })
  await cluster.advance({ seconds: 15 })
  const left = async () => (await cluster.list(PersistentVolumeClaim, 'default')).filter(({ metadata }) => !metadata.deletionTimestamp)
  assert.deepEqual(
    (await left()).map(({ metadata }) => metadata.name),
    ['data-db-0', 'data-db-1'],
  )
  await cluster.client.delete(StatefulSet, { namespace: 'default', name: 'db' })
  await cluster.advance({ seconds: 15 })
  assert.deepEqual(await left(), [])
})

for (const { maxUnavailable, expected } of [
  // The one that is broken is all that may be missing.
  { maxUnavailable: 1, expected: ['db-0 db:1', 'db-1 db:1', 'db-2 db:1', 'db-3 db:1'] },
  { maxUnavailable: '49%', expected: ['db-0 db:1', 'db-1 db:1', 'db-2 db:1', 'db-3 db:1'] },
  { maxUnavailable: 2, expected: ['db-0 db:2', 'db-1 db:2', 'db-2 db:2', 'db-3 db:2'] },
]) {
  test(`where ${maxUnavailable} of four may be missing, a pod that is broken counts`, async () => {
    const rollingUpdate = { maxUnavailable }
    await using cluster = await started(
      { replicas: 4, podManagementPolicy: 'Parallel', updateStrategy: { type: 'RollingUpdate', rollingUpdate } },
      {
        fateOf: ({ metadata, spec }) => (metadata.name === 'db-0' && spec.containers[0]?.image === 'db:1' ? 'hangs' : 'runs'),
        featureGates: ['MaxUnavailableStatefulSet=true'],
        settings: { isEnabled: (gate) => gate === 'MaxUnavailableStatefulSet' },
      },
    )
    await cluster.advance({ seconds: 10 })
    await setImage(cluster, 'db:2')
    await cluster.advance({ minutes: 2 })
    assert.deepEqual(await images(cluster), expected)
  })
}
