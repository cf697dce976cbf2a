import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap, Namespace, Node, Pod, ReplicationController, Secret, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import { ClusterRole } from '#api/rbac/v1/kinds.gen.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

test('every namespace has a service account and the root CA, again after somebody deleted or changed them', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['serviceaccount', 'root-ca-cert-publisher'], settings: { rootCa: 'PEM' } })
  await cluster.create(Namespace, { metadata: { name: 'shop' }, spec: {} })
  await cluster.advance({ seconds: 1 })
  assert.ok(await cluster.find(ServiceAccount, 'shop', 'default'))
  assert.equal((await cluster.get(ConfigMap, 'shop', 'kube-root-ca.crt')).data?.['ca.crt'], 'PEM')
  await cluster.client.delete(ServiceAccount, { namespace: 'shop', name: 'default' })
  await cluster.change(ConfigMap, 'shop', 'kube-root-ca.crt', (map) => void Object.assign(map, { data: { x: 'y' } }))
  await cluster.advance({ seconds: 1 })
  assert.ok(await cluster.find(ServiceAccount, 'shop', 'default'))
  assert.deepEqual((await cluster.get(ConfigMap, 'shop', 'kube-root-ca.crt')).data, { 'ca.crt': 'PEM' })
})

test('a pod that may take years to end does not keep its namespace after it is gone', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['namespace'] })
  await cluster.create(Namespace, { metadata: { name: 'shop' }, spec: {} })
  const spec = { containers: [{ name: 'main', image: 'a' }], nodeName: 'node-1', terminationGracePeriodSeconds: 10 * 365 * 86_400 }
  await cluster.create(Pod, { metadata: { namespace: 'shop', name: 'slow' }, spec })
  await cluster.advance({ seconds: 5 })
  cluster.nodes.silence('node-1')
  await cluster.client.delete(Namespace, { name: 'shop' })
  await cluster.advance({ minutes: 1 })
  assert.ok(await cluster.find(Pod, 'shop', 'slow'))
  await cluster.client.delete(Pod, { namespace: 'shop', name: 'slow' }, { gracePeriodSeconds: 0 })
  await cluster.advance({ minutes: 5 })
  assert.equal(await cluster.find(Namespace, '', 'shop'), undefined)
})

test('cluster roles gather the rules of those their selectors match', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['clusterrole-aggregation'] })
  const rules = [{ apiGroups: ['example.com'], resources: ['things'], verbs: ['get'] }]
  const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
  await cluster.create(ClusterRole, { metadata: { name: 'things', labels }, rules })
  await cluster.advance({ seconds: 1 })
  const gathers = async (role: string) =>
    (await cluster.get(ClusterRole, '', role)).rules?.some(({ apiGroups }) => apiGroups?.includes('example.com'))
  for (const role of ['view', 'edit', 'admin']) assert.ok(await gathers(role), role)
  await cluster.client.delete(ClusterRole, { name: 'things' })
  await cluster.advance({ seconds: 1 })
  assert.ok(!(await gathers('admin')))
})

test('pods of a node that is gone, and pods that never got one, are removed; and the oldest finished ones beyond the limit', async () => {
  await using cluster = await FakeCluster.start({
    controllers: ['podgc'],
    settings: { terminatedPodGcThreshold: 1 },
    fateOf: () => 'succeeds',
  })
  const spec = { containers: [{ name: 'main', image: 'a' }], restartPolicy: 'Never' }
  for (const name of ['a', 'b', 'c']) {
    await cluster.create(Pod, { metadata: { namespace: 'default', name }, spec })
    await cluster.advance({ seconds: 2 })
  }
  await cluster.advance({ seconds: 60 })
  assert.deepEqual(
    (await cluster.list(Pod, 'default')).map(({ metadata }) => metadata.name),
    ['c'],
  )
  await cluster.create(Pod, { metadata: { namespace: 'default', name: 'lost' }, spec: { ...spec, nodeName: 'node-1' } })
  cluster.nodes.silence('node-1')
  await cluster.client.delete(Node, { name: 'node-1' })
  await cluster.advance({ seconds: 30 })
  assert.ok(await cluster.find(Pod, 'default', 'lost'), 'removed within the quarantine')
  await cluster.advance({ seconds: 60 })
  assert.equal(await cluster.find(Pod, 'default', 'lost'), undefined)
})

test('a bootstrap token goes when it expires', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['tokencleaner'] })
  const expiration = Buffer.from('2026-01-01T00:10:00Z').toString('base64')
  await cluster.create(Secret, {
    metadata: { namespace: 'kube-system', name: 'bootstrap-token-abcdef' },
    type: 'bootstrap.kubernetes.io/token',
    data: {
      expiration,
      'token-id': Buffer.from('abcdef').toString('base64'),
      'token-secret': Buffer.from('0123456789abcdef').toString('base64'),
    },
  })
  await cluster.advance({ minutes: 9 })
  assert.ok(await cluster.find(Secret, 'kube-system', 'bootstrap-token-abcdef'))
  await cluster.advance({ minutes: 2 })
  assert.equal(await cluster.find(Secret, 'kube-system', 'bootstrap-token-abcdef'), undefined)
})

test('a replication controller keeps its pods, takes in one that fits and lets go of one that does not any more', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['replicationcontroller'] })
  const template = { metadata: { labels: { app: 'old' } }, spec: { containers: [{ name: 'main', image: 'a' }] } }
  await cluster.create(Pod, { metadata: { namespace: 'default', name: 'orphan', labels: { app: 'old' } }, spec: template.spec })
  await cluster.create(ReplicationController, {
    metadata: { namespace: 'default', name: 'old' },
    spec: { replicas: 2, selector: { app: 'old' }, template },
  })
  await cluster.advance({ seconds: 5 })
  assert.equal((await cluster.list(Pod, 'default')).length, 2)
  assert.equal((await cluster.get(Pod, 'default', 'orphan')).metadata.ownerReferences?.[0]?.kind, 'ReplicationController')
  await cluster.change(Pod, 'default', 'orphan', ({ metadata }) => void Object.assign(metadata, { labels: { app: 'other' } }))
  await cluster.advance({ seconds: 5 })
  assert.equal((await cluster.list(Pod, 'default')).length, 3)
  assert.equal((await cluster.get(Pod, 'default', 'orphan')).metadata.ownerReferences, undefined)
})
