import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { PodGroup } from '#api/scheduling/v1alpha2/kinds.gen.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const namespace = 'default'

test('a pod group stays until the last of its pods has ended', async () => {
  await using cluster = await FakeCluster.start({
    withoutNodes: true,
    controllers: ['podgroup-protection-controller'],
    featureGates: ['GenericWorkload=true'],
    runtimeConfig: ['scheduling.k8s.io/v1alpha2=true'],
  })
  await cluster.create(PodGroup, { metadata: { namespace, name: 'gang' }, spec: { schedulingPolicy: { basic: {} } } })
  const spec = { containers: [{ name: 'main', image: 'a' }], schedulingGroup: { podGroupName: 'gang' } }
  for (const name of ['a', 'b']) await cluster.create(Pod, { metadata: { namespace, name }, spec })
  assert.deepEqual((await cluster.get(PodGroup, namespace, 'gang')).metadata.finalizers, ['scheduling.k8s.io/podgroup-protection'])
  await cluster.client.delete(PodGroup, { namespace, name: 'gang' })
  await cluster.advance({ minutes: 1 })
  assert.ok(await cluster.find(PodGroup, namespace, 'gang'))
  await cluster.client.delete(Pod, { namespace, name: 'a' }, { gracePeriodSeconds: 0 })
  await cluster.advance({ minutes: 1 })
  assert.ok(await cluster.find(PodGroup, namespace, 'gang'))
  const pod = await cluster.get(Pod, namespace, 'b')
  await cluster.client.updateStatus(Pod, { ...pod, status: { ...pod.status, phase: 'Succeeded' } })
  await cluster.advance({ seconds: 2 })
  assert.equal(await cluster.find(PodGroup, namespace, 'gang'), undefined)
})
