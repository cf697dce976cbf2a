import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { aClaim, aVolume } from '#controllers/volume-driver/testing/storage-objects.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'

const start = (isEnabled: (gate: string) => boolean = () => false) =>
  FakeCluster.start({
    withoutNodes: true,
    controllers: ['persistentvolume-binder', 'pvc-protection', 'pv-protection', 'ephemeral-volume'],
    settings: { isEnabled },
  })
const containers = [{ name: 'main', image: 'a' }]
const using = (claimName: string, more: Partial<V1PodSpec> = {}): V1PodSpec => ({
  containers,
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
  ...more,
})

test('a claim goes when no pod on a node uses it any more, and its volume when it is not bound any more', async () => {
  await using cluster = await start()
  await cluster.create(PersistentVolume, aVolume('v'))
  await cluster.create(PersistentVolumeClaim, aClaim('used', { storageClassName: '' }))
  await cluster.create(PersistentVolumeClaim, aClaim('wanted', { storageClassName: '' }))
  await cluster.create(Pod, { metadata: { namespace: 'default', name: 'p' }, spec: using('used', { nodeName: 'n1' }) })
  await cluster.create(Pod, { metadata: { namespace: 'default', name: 'waits' }, spec: using('wanted') })
  await cluster.advance({ seconds: 1 })
  await cluster.client.delete(PersistentVolume, { name: 'v' })
  for (const name of ['used', 'wanted']) await cluster.client.delete(PersistentVolumeClaim, { namespace: 'default', name })
  await cluster.advance({ minutes: 5 })
  assert.ok(await cluster.find(PersistentVolumeClaim, 'default', 'used'))
  assert.ok(await cluster.find(PersistentVolume, '', 'v'))
  assert.equal(await cluster.find(PersistentVolumeClaim, 'default', 'wanted'), undefined, 'a pod without a node holds nothing')
  await cluster.client.delete(Pod, { namespace: 'default', name: 'p' }, { gracePeriodSeconds: 0 })
  await cluster.advance({ seconds: 1 })
  assert.equal(await cluster.find(PersistentVolumeClaim, 'default', 'used'), undefined)
  assert.equal(await cluster.find(PersistentVolume, '', 'v'), undefined)
})

test('what was made without a finalizer gets it', async () => {
  await using cluster = await start()
  await cluster.create(PersistentVolumeClaim, aClaim('c', { storageClassName: '' }))
  await cluster.change(PersistentVolumeClaim, 'default', 'c', ({ metadata }) => void Object.assign(metadata, { finalizers: [] }))
  await cluster.advance({ seconds: 1 })
  assert.deepEqual((await cluster.get(PersistentVolumeClaim, 'default', 'c')).metadata.finalizers, ['kubernetes.io/pvc-protection'])
})

test('since when nobody has used a claim is told where that is asked for', async () => {
  await using cluster = await start((gate) => gate === 'PersistentVolumeClaimUnusedSinceTime')
  await cluster.create(PersistentVolumeClaim, aClaim('c', { storageClassName: '' }))
  await cluster.advance({ seconds: 1 })
  const unused = async () => findCondition((await cluster.get(PersistentVolumeClaim, 'default', 'c')).status?.conditions, 'Unused')
  assert.equal((await unused())?.reason, 'NoPodsUsingPVC')
  await cluster.create(Pod, { metadata: { namespace: 'default', name: 'p' }, spec: using('c') })
  await cluster.advance({ seconds: 1 })
  assert.equal((await unused())?.reason, 'PodUsingPVC')
})

test('the claim of an ephemeral volume is made again when it goes, but never taken from somebody else', async () => {
  await using cluster = await start()
  await cluster.create(PersistentVolumeClaim, aClaim('q-scratch', { storageClassName: '' }))
  const volumes = [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: aClaim('x').spec } } }]
  for (const name of ['p', 'q']) await cluster.create(Pod, { metadata: { namespace: 'default', name }, spec: { containers, volumes } })
  await cluster.advance({ seconds: 1 })
  const made = await cluster.get(PersistentVolumeClaim, 'default', 'p-scratch')
  assert.equal(made.metadata.ownerReferences?.[0]?.kind, 'Pod')
  assert.equal((await cluster.get(PersistentVolumeClaim, 'default', 'q-scratch')).metadata.ownerReferences, undefined)
  await cluster.client.delete(PersistentVolumeClaim, { namespace: 'default', name: 'p-scratch' })
  await cluster.advance({ seconds: 2 })
  assert.notEqual((await cluster.get(PersistentVolumeClaim, 'default', 'p-scratch')).metadata.uid, made.metadata.uid)
})
