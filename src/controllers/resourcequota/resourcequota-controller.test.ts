import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReplicaSet } from '#api/apps/v1/kinds.gen.ts'
import { Event, Pod, ResourceQuota } from '#api/core/v1/kinds.gen.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

test('a quota counts what is there, stops what is too much, and lets it in again when there is room', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['replicaset', 'resourcequota'] })
  const hard = { pods: '3', 'requests.cpu': '2', 'count/replicasets.apps': '5' }
  await cluster.create(ResourceQuota, { metadata: { namespace: 'default', name: 'small' }, spec: { hard } })
  await cluster.advance({ seconds: 1 })
  const used = async () => (await cluster.get(ResourceQuota, 'default', 'small')).status?.used
  assert.deepEqual(await used(), { pods: '0', 'requests.cpu': '0', 'count/replicasets.apps': '0' })
  const selector = { matchLabels: { app: 'web' } }
  const container = { name: 'main', image: 'a', resources: { requests: { cpu: '500m' } } }
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [container] } }
  await cluster.create(ReplicaSet, { metadata: { namespace: 'default', name: 'web' }, spec: { replicas: 5, selector, template } })
  await cluster.advance({ seconds: 10 })
  assert.equal((await cluster.list(Pod, 'default')).length, 3)
  assert.deepEqual(await used(), { pods: '3', 'requests.cpu': '1500m', 'count/replicasets.apps': '1' })
  const set = await cluster.get(ReplicaSet, 'default', 'web')
  assert.deepEqual(
    set.status?.conditions?.map(({ type, reason }) => [type, reason]),
    [['ReplicaFailure', 'FailedCreate']],
  )
  assert.ok((await cluster.list(Event, 'default')).some(({ reason }) => reason === 'FailedCreate'))
  await cluster.change(
    ResourceQuota,
    'default',
    'small',
    ({ spec }) => void Object.assign(spec?.hard ?? {}, { pods: '10', 'requests.cpu': '10' }),
  )
  await cluster.advance({ minutes: 20 })
  assert.equal((await cluster.list(Pod, 'default')).length, 5)
  await cluster.client.delete(ReplicaSet, { namespace: 'default', name: 'web' }, { propagationPolicy: 'Orphan' })
  await cluster.client.deleteCollection(Pod, { namespace: 'default' })
  await cluster.advance({ seconds: 10 })
  assert.equal((await used())?.['pods'], '0')
})
