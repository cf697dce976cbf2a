import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import { StorageClass, VolumeAttributesClass } from '#api/storage/v1/kinds.gen.ts'
import { simulatedDriver } from '#controllers/simulated-volumes/simulated-volumes.ts'
import { StorageCluster } from '#controllers/volume-driver/testing/storage-cluster.ts'

const gibibyte = 2 ** 30

test('a claim gets a volume made for it, and both go together', async () => {
  await using all = await StorageCluster.start()
  await all.aClass()
  const made = await all.aClaim('data')
  await all.cluster.advance({ seconds: 1 })
  const claim = await all.claim('data')
  assert.equal(claim.status?.phase, 'Bound')
  assert.equal(claim.spec.volumeName, `pvc-${made.metadata.uid}`)
  const volume = await all.volumeOf('data')
  assert.equal(volume.metadata.annotations?.['pv.kubernetes.io/provisioned-by'], simulatedDriver)
  assert.deepEqual(volume.metadata.finalizers?.toSorted(), [
    'external-provisioner.volume.kubernetes.io/finalizer',
    'kubernetes.io/pv-protection',
  ])
  assert.equal(volume.spec.capacity?.['storage'], '5Gi')
  assert.equal(all.storage.volumes.size, 1)
  const recorded = await all.eventsOf('data')
  assert.ok(recorded.includes('Provisioning: External provisioner is provisioning volume for claim "default/data"'), recorded.join('\n'))
  assert.ok(recorded.includes(`ProvisioningSucceeded: Successfully provisioned volume ${claim.spec.volumeName}`), recorded.join('\n'))
  await all.cluster.client.delete(PersistentVolumeClaim, { namespace: 'default', name: 'data' })
  await all.cluster.advance({ seconds: 5 })
  assert.ok(await all.isGone('data'))
  assert.deepEqual(await all.cluster.list(PersistentVolume), [])
  assert.equal(all.storage.volumes.size, 0)
})

test('provisioning that fails is tried again, and told; what was made without an answer is found', async () => {
  await using all = await StorageCluster.start()
  await all.aClass({ provision: 'fail,lost,ok', 'provision-time': '10s' })
  await all.aClaim('data')
  await all.cluster.advance({ seconds: 15 })
  assert.equal((await all.claim('data')).status?.phase, 'Pending')
  await all.cluster.advance({ seconds: 60 })
  assert.equal((await all.claim('data')).status?.phase, 'Bound')
  assert.equal(all.storage.volumes.size, 1)
  const recorded = await all.eventsOf('data')
  assert.ok(
    recorded.some((line) => line.startsWith('ProvisioningFailed: failed to provision volume with StorageClass "sim": simulated failure')),
  )
})

test('a claim that goes while its volume may have been made leaves nothing behind', async () => {
  await using all = await StorageCluster.start()
  await all.aClass({ provision: 'lost,lost,ok', 'provision-time': '10s' })
  await all.aClaim('data')
  await all.cluster.advance({ seconds: 12 })
  await all.cluster.client.delete(PersistentVolumeClaim, { namespace: 'default', name: 'data' })
  await all.cluster.advance({ seconds: 120 })
  assert.ok(await all.isGone('data'))
  assert.deepEqual(await all.cluster.list(PersistentVolume), [])
  assert.equal(all.storage.volumes.size, 0)
})

test('a node without room gives the claim back to the scheduler', async () => {
  await using all = await StorageCluster.start()
  await all.aNode('n1')
  const parameters = { provision: 'elsewhere,ok', 'on-one-node': 'true' }
  const late = { provisioner: simulatedDriver, parameters, volumeBindingMode: 'WaitForFirstConsumer' }
  await all.cluster.create(StorageClass, { metadata: { name: 'sim' }, ...late })
  await all.aClaim('data')
  await all.cluster.advance({ seconds: 5 })
  assert.equal(all.storage.volumes.size, 0)
  const choose = () =>
    all.cluster.change(PersistentVolumeClaim, 'default', 'data', ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, 'volume.kubernetes.io/selected-node': 'n1' }
    })
  await choose()
  await all.cluster.advance({ seconds: 5 })
  const refused = await all.claim('data')
  assert.equal(refused.metadata.annotations?.['volume.kubernetes.io/selected-node'], undefined)
  assert.equal(refused.status?.phase, 'Pending')
  await choose()
  await all.cluster.advance({ seconds: 5 })
  assert.equal((await all.claim('data')).status?.phase, 'Bound')
  const terms = (await all.volumeOf('data')).spec.nodeAffinity?.required?.nodeSelectorTerms
  assert.deepEqual(terms?.[0]?.matchExpressions?.[0]?.values, ['n1'])
})

test('a volume that cannot be deleted stays until it can be', async () => {
  await using all = await StorageCluster.start()
  await all.aClass({ delete: 'fail,lost,ok', 'delete-time': '5s' })
  await all.aClaim('data')
  await all.cluster.advance({ seconds: 1 })
  const { spec } = await all.claim('data')
  await all.cluster.client.delete(PersistentVolumeClaim, { namespace: 'default', name: 'data' })
  await all.cluster.advance({ seconds: 6 })
  assert.equal((await all.cluster.get(PersistentVolume, '', spec.volumeName ?? '')).status?.phase, 'Released')
  assert.ok((await all.eventsOf(spec.volumeName ?? '')).includes('VolumeFailedDelete: simulated failure of delete'))
  await all.cluster.advance({ seconds: 60 })
  assert.deepEqual(await all.cluster.list(PersistentVolume), [])
  assert.equal(all.storage.volumes.size, 0)
})

const grow = (all: StorageCluster, size: string) =>
  all.cluster.change(PersistentVolumeClaim, 'default', 'data', ({ spec }) => {
    spec.resources = { requests: { storage: size } }
  })

test('a claim that asks for more gets it, with everything said on the way', async () => {
  await using all = await StorageCluster.start()
  await all.aClass({ expand: 'fail,lost,ok', 'expand-time': '10s' })
  await all.aClaim('data')
  await all.cluster.advance({ seconds: 1 })
  await grow(all, '8Gi')
  await all.cluster.advance({ seconds: 5 })
  const during = (await all.claim('data')).status
  assert.equal(during?.allocatedResources?.['storage'], '8Gi')
  assert.equal(during?.allocatedResourceStatuses?.['storage'], 'ControllerResizeInProgress')
  assert.deepEqual(
    during?.conditions?.map(({ type }) => type),
    ['Resizing'],
  )
  await all.cluster.advance({ seconds: 60 })
  const after = (await all.claim('data')).status
  assert.equal(after?.capacity?.['storage'], '8Gi')
  assert.equal(after?.allocatedResourceStatuses, undefined)
  assert.deepEqual(after?.conditions ?? [], [])
  assert.equal((await all.volumeOf('data')).spec.capacity?.['storage'], '8Gi')
  assert.equal([...all.storage.volumes.values()][0]?.sizeBytes, 8 * gibibyte)
  const recorded = await all.eventsOf('data')
  for (const reason of ['ExternalExpanding', 'Resizing', 'VolumeResizeFailed', 'VolumeResizeSuccessful']) {
    assert.ok(
      recorded.some((line) => line.startsWith(`${reason}: `)),
      `${reason} in\n${recorded.join('\n')}`,
    )
  }
})

test('a file system that must grow on the node is left to the node', async () => {
  await using all = await StorageCluster.start()
  await all.aClass({ 'expand-on-node': 'true' })
  await all.aClaim('data')
  await all.cluster.advance({ seconds: 1 })
  await grow(all, '8Gi')
  await all.cluster.advance({ seconds: 5 })
  const { status } = await all.claim('data')
  assert.equal(status?.capacity?.['storage'], '5Gi')
  assert.equal(status?.allocatedResourceStatuses?.['storage'], 'NodeResizePending')
  assert.deepEqual(
    status?.conditions?.map(({ type }) => type),
    ['FileSystemResizePending'],
  )
  assert.equal((await all.volumeOf('data')).spec.capacity?.['storage'], '8Gi')
})

test('who asked for what cannot be had may ask for less', async () => {
  await using all = await StorageCluster.start()
  await all.aClass({ expand: 'infeasible,ok' })
  await all.aClaim('data')
  await all.cluster.advance({ seconds: 1 })
  await grow(all, '800Gi')
  await all.cluster.advance({ seconds: 30 })
  const refused = (await all.claim('data')).status
  assert.equal(refused?.allocatedResourceStatuses?.['storage'], 'ControllerResizeInfeasible')
  assert.ok(refused?.conditions?.some(({ type }) => type === 'ControllerResizeError'))
  await grow(all, '6Gi')
  await all.cluster.advance({ seconds: 30 })
  const { status } = await all.claim('data')
  assert.equal(status?.capacity?.['storage'], '6Gi')
  assert.equal(status?.allocatedResources?.['storage'], '6Gi')
  assert.deepEqual(status?.conditions ?? [], [])
})

test('a volume gets the attributes its claim asks for, and a class that is used stays', async () => {
  await using all = await StorageCluster.start()
  await all.aClass({ modify: 'fail,ok', 'modify-time': '10s' })
  const attributes = (name: string, speed: string, driverName = simulatedDriver) =>
    all.cluster.create(VolumeAttributesClass, { metadata: { name }, driverName, parameters: { speed } })
  await attributes('silver', '1')
  await attributes('gold', '2')
  await attributes('foreign', '3', 'other.example.com')
  await all.aClaim('data', { volumeAttributesClassName: 'silver' })
  await all.cluster.advance({ seconds: 1 })
  const ask = (name: string) =>
    all.cluster.change(PersistentVolumeClaim, 'default', 'data', ({ spec }) => {
      spec.volumeAttributesClassName = name
    })
  assert.equal((await all.claim('data')).status?.currentVolumeAttributesClassName, 'silver')
  await ask('gold')
  await all.cluster.advance({ seconds: 5 })
  const during = (await all.claim('data')).status
  assert.deepEqual(during?.modifyVolumeStatus, { targetVolumeAttributesClassName: 'gold', status: 'InProgress' })
  assert.ok(during?.conditions?.some(({ type }) => type === 'ModifyingVolume'))
  await all.cluster.client.delete(VolumeAttributesClass, { name: 'gold' })
  await all.cluster.client.delete(VolumeAttributesClass, { name: 'silver' })
  await all.cluster.advance({ seconds: 30 })
  const after = (await all.claim('data')).status
  assert.equal(after?.currentVolumeAttributesClassName, 'gold')
  assert.equal(after?.modifyVolumeStatus, undefined)
  assert.deepEqual(after?.conditions ?? [], [])
  assert.deepEqual([...all.storage.volumes.values()][0]?.attributes, { speed: '2' })
  assert.ok(await all.cluster.find(VolumeAttributesClass, '', 'gold'), 'a class that is used')
  assert.equal(await all.cluster.find(VolumeAttributesClass, '', 'silver'), undefined)
  await ask('foreign')
  await all.cluster.advance({ seconds: 5 })
  const refused = (await all.claim('data')).status
  assert.equal(refused?.modifyVolumeStatus?.status, 'Infeasible')
  assert.match(refused?.conditions?.[0]?.message ?? '', /^VAC "foreign" does not belong to the driver /)
  await ask('none')
  await all.cluster.advance({ seconds: 5 })
  assert.equal((await all.claim('data')).status?.modifyVolumeStatus?.status, 'Pending')
  await attributes('none', '4')
  await all.cluster.advance({ seconds: 30 })
  const recovered = (await all.claim('data')).status
  assert.equal(recovered?.currentVolumeAttributesClassName, 'none')
  assert.deepEqual(recovered?.conditions ?? [], [])
})
