import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deployment, ReplicaSet } from '#api/apps/v1/kinds.gen.ts'
import { ConfigMap, Event, Namespace, Pod, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const controllers = ['deployment', 'replicaset', 'garbagecollector', 'namespace', 'serviceaccount']

async function withDeployment(namespace = 'default'): Promise<FakeCluster> {
  const cluster = await FakeCluster.start({ controllers, endMs: 3000 })
  if (namespace !== 'default') {
    await cluster.create(Namespace, { metadata: { name: namespace }, spec: {} })
    await cluster.advance({ seconds: 1 })
  }
  await cluster.create(Deployment, {
    metadata: { namespace, name: 'web' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'a' }] } },
    },
  })
  await cluster.advance({ seconds: 10 })
  assert.equal((await cluster.list(Pod, namespace)).length, 2)
  return cluster
}

const web = { namespace: 'default', name: 'web' }

test('deleting in the background takes the owner at once, and what it owned after it', async () => {
  await using cluster = await withDeployment()
  await cluster.client.delete(Deployment, web, { propagationPolicy: 'Background' })
  assert.equal(await cluster.find(Deployment, 'default', 'web'), undefined)
  await cluster.advance({ seconds: 10 })
  assert.deepEqual(await cluster.list(ReplicaSet, 'default'), [])
  assert.deepEqual(await cluster.list(Pod, 'default'), [])
})

test('deleting in the foreground keeps the owner until the last pod is gone', async () => {
  await using cluster = await withDeployment()
  await cluster.client.delete(Deployment, web, { propagationPolicy: 'Foreground' })
  await cluster.advance({ seconds: 1 })
  assert.notEqual((await cluster.get(Deployment, 'default', 'web')).metadata.deletionTimestamp, undefined)
  assert.notEqual((await cluster.list(ReplicaSet, 'default'))[0]?.metadata.deletionTimestamp, undefined)
  await cluster.advance({ seconds: 10 })
  assert.equal(await cluster.find(Deployment, 'default', 'web'), undefined)
  assert.deepEqual(await cluster.list(ReplicaSet, 'default'), [])
  assert.deepEqual(await cluster.list(Pod, 'default'), [])
})

test('orphaning leaves what was owned, without the owner', async () => {
  await using cluster = await withDeployment()
  await cluster.client.delete(Deployment, web, { propagationPolicy: 'Orphan' })
  await cluster.advance({ seconds: 10 })
  assert.equal(await cluster.find(Deployment, 'default', 'web'), undefined)
  const [set] = await cluster.list(ReplicaSet, 'default')
  assert.equal(set?.metadata.ownerReferences, undefined)
  assert.equal((await cluster.list(Pod, 'default')).length, 2)
})

test('an object with an owner that never was is deleted, one with another owner left only loses the reference', async () => {
  await using cluster = await withDeployment()
  const solid = await cluster.create(ConfigMap, { metadata: { namespace: 'default', name: 'owner' } })
  const gone = { apiVersion: 'v1', kind: 'ConfigMap', name: 'never', uid: '00000000-0000-4000-8000-000000000000' }
  const kept = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: solid.metadata.uid ?? '' }
  await cluster.create(ConfigMap, { metadata: { namespace: 'default', name: 'orphan', ownerReferences: [gone] } })
  await cluster.create(ConfigMap, { metadata: { namespace: 'default', name: 'shared', ownerReferences: [gone, kept] } })
  await cluster.advance({ seconds: 5 })
  assert.equal(await cluster.find(ConfigMap, 'default', 'orphan'), undefined)
  assert.deepEqual((await cluster.get(ConfigMap, 'default', 'shared')).metadata.ownerReferences, [kept])
})

test('an owner in another namespace does not count, and an event says so', async () => {
  await using cluster = await withDeployment()
  const owner = await cluster.create(ConfigMap, { metadata: { namespace: 'kube-public', name: 'owner' } })
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid ?? '' }
  await cluster.create(ConfigMap, { metadata: { namespace: 'default', name: 'stray', ownerReferences: [reference] } })
  await cluster.advance({ seconds: 5 })
  assert.equal(await cluster.find(ConfigMap, 'default', 'stray'), undefined)
  assert.ok(await cluster.find(ConfigMap, 'kube-public', 'owner'))
  assert.ok((await cluster.list(Event, 'default')).some(({ reason }) => reason === 'OwnerRefInvalidNamespace'))
})

test('a deleted namespace goes with everything in it, pods first', async () => {
  await using cluster = await withDeployment('shop')
  await cluster.create(ConfigMap, { metadata: { namespace: 'shop', name: 'settings' } })
  assert.ok(await cluster.find(ServiceAccount, 'shop', 'default'))
  await cluster.client.delete(Namespace, { name: 'shop' })
  await cluster.advance({ seconds: 1 })
  const going = await cluster.get(Namespace, '', 'shop')
  assert.equal(going.status?.phase, 'Terminating')
  assert.ok(await cluster.find(ConfigMap, 'shop', 'settings'), 'settings went before the pods')
  await cluster.advance({ seconds: 60 })
  await assert.rejects(cluster.get(Namespace, '', 'shop'), isNotFound)
  assert.deepEqual(await cluster.list(ConfigMap, 'shop'), [])
})

test('a namespace tells what keeps it', async () => {
  await using cluster = await withDeployment()
  await cluster.create(Namespace, { metadata: { name: 'stuck' }, spec: {} })
  await cluster.create(ConfigMap, { metadata: { namespace: 'stuck', name: 'kept', finalizers: ['example.com/keep'] } })
  await cluster.client.delete(Namespace, { name: 'stuck' })
  await cluster.advance({ seconds: 20 })
  const conditions = (await cluster.get(Namespace, '', 'stuck')).status?.conditions ?? []
  assert.deepEqual(
    conditions.filter(({ status }) => status === 'True').map(({ type, reason, message }) => [type, reason, message]),
    [
      ['NamespaceContentRemaining', 'SomeResourcesRemain', 'Some resources are remaining: configmaps. has 1 resource instances'],
      [
        'NamespaceFinalizersRemaining',
        'SomeFinalizersRemain',
        'Some content in the namespace has finalizers remaining: example.com/keep in 1 resource instances',
      ],
    ],
  )
  await cluster.change(ConfigMap, 'stuck', 'kept', ({ metadata }) => {
    delete metadata.finalizers
  })
  await cluster.advance({ seconds: 60 })
  assert.equal(await cluster.find(Namespace, '', 'stuck'), undefined)
})
