import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Event, PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { StorageClass } from '#api/storage/v1/kinds.gen.ts'
import { aClaim, aClass, aVolume } from '#controllers/volume-driver/testing/storage-objects.ts'
import { FakeCluster, type FakeClusterOptions } from '#testing/fake-cluster.ts'

const binder = (options: FakeClusterOptions = {}) =>
  FakeCluster.start({ controllers: ['persistentvolume-binder'], withoutNodes: true, ...options })

type Row = {
  name: string
  volumes?: V1PersistentVolume[]
  claim: V1PersistentVolumeClaim
  classes?: Parameters<typeof aClass>[]
  /** The volume it gets; undefined: none. */
  bound?: string
  phase?: string
  event?: string
}

const row = (name: string, parts: Omit<Row, 'name'>): Row => ({ name, ...parts })
const manual = { storageClassName: '' }
const csi = { csi: { driver: 'sim.example.com', volumeHandle: 'h' } }

const rows: Row[] = [
  row('the smallest volume that is large enough', {
    volumes: [aVolume('large', { size: '20Gi' }), aVolume('fits', { size: '6Gi' }), aVolume('small', { size: '1Gi' })],
    claim: aClaim('c', manual),
    bound: 'fits',
  }),
  row('a volume that can do less goes first, even if it is larger', {
    volumes: [
      aVolume('shared', { accessModes: ['ReadWriteOnce', 'ReadWriteMany'], size: '5Gi' }),
      aVolume('single', { accessModes: ['ReadWriteOnce'], size: '9Gi' }),
    ],
    claim: aClaim('c', manual),
    bound: 'single',
  }),
  row('no volume lacks an access mode', {
    volumes: [aVolume('single', { accessModes: ['ReadWriteOnce'] })],
    claim: aClaim('c', { ...manual, accessModes: ['ReadWriteMany'] }),
    event: 'FailedBinding: no persistent volumes available for this claim and no storage class is set',
  }),
  row('a block device is no file system', {
    volumes: [aVolume('v', { volumeMode: 'Block' })],
    claim: aClaim('c', manual),
  }),
  row('a block device for whoever asks for one', {
    volumes: [aVolume('files'), aVolume('device', { volumeMode: 'Block' })],
    claim: aClaim('c', { ...manual, volumeMode: 'Block' }),
    bound: 'device',
  }),
  row('a selector chooses by labels', {
    volumes: [aVolume('a'), aVolume('b', {}, { disk: 'fast' })],
    claim: aClaim('c', { ...manual, selector: { matchLabels: { disk: 'fast' } } }),
    bound: 'b',
  }),
  row('the class must be the same', {
    volumes: [aVolume('other', { storageClassName: 'gold' }), aVolume('v')],
    claim: aClaim('c', manual),
    bound: 'v',
  }),
  row('attributes must be the same', {
    volumes: [aVolume('v', { volumeAttributesClassName: 'silver', ...csi })],
    claim: aClaim('c', manual),
  }),
  row('a volume that is asked for by name', {
    volumes: [aVolume('small', { size: '5Gi' }), aVolume('mine', { size: '50Gi' })],
    claim: aClaim('c', { ...manual, volumeName: 'mine' }),
    bound: 'mine',
  }),
  row('a volume asked for by name that is too small', {
    volumes: [aVolume('mine', { size: '1Gi' })],
    claim: aClaim('c', { ...manual, volumeName: 'mine' }),
    event: 'VolumeMismatch: Cannot bind to requested volume "mine": requested PV is too small',
  }),
  row('a volume asked for by name of another class', {
    volumes: [aVolume('mine', { storageClassName: 'gold' })],
    claim: aClaim('c', { ...manual, volumeName: 'mine' }),
    event: 'VolumeMismatch: Cannot bind to requested volume "mine": storageClassName does not match',
  }),
  row('a volume asked for by name that is another claim’s', {
    volumes: [aVolume('mine', { claimRef: { namespace: 'default', name: 'other' } })],
    claim: aClaim('c', { ...manual, volumeName: 'mine' }),
    event: 'FailedBinding: volume "mine" already bound to a different claim.',
  }),
  row('a volume that was reserved for the claim, though a smaller one is there', {
    volumes: [aVolume('small', { size: '5Gi' }), aVolume('mine', { size: '50Gi', claimRef: { namespace: 'default', name: 'c' } })],
    claim: aClaim('c', manual),
    bound: 'mine',
  }),
  row('a volume that was reserved for somebody else is left alone', {
    volumes: [aVolume('theirs', { claimRef: { namespace: 'default', name: 'd' } })],
    claim: aClaim('c', manual),
  }),
  row('with WaitForFirstConsumer nothing happens before there is a pod', {
    classes: [['late', { volumeBindingMode: 'WaitForFirstConsumer' }]],
    volumes: [aVolume('v', { storageClassName: 'late' })],
    claim: aClaim('c', { storageClassName: 'late' }),
    event: 'WaitForFirstConsumer: waiting for first consumer to be created before binding',
  }),
  row('with WaitForFirstConsumer a reserved volume is bound at once', {
    classes: [['late', { volumeBindingMode: 'WaitForFirstConsumer' }]],
    volumes: [aVolume('v', { storageClassName: 'late', claimRef: { namespace: 'default', name: 'c' } })],
    claim: aClaim('c', { storageClassName: 'late' }),
    bound: 'v',
  }),
  row('without a volume its provisioner is asked', {
    classes: [['fast', { provisioner: 'example.com/disks' }]],
    claim: aClaim('c', { storageClassName: 'fast' }),
    event:
      "ExternalProvisioning: Waiting for a volume to be created either by the external provisioner 'example.com/disks' or manually by " +
      'the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.',
  }),
  row('a class that is not there', {
    claim: aClaim('c', { storageClassName: 'fast' }),
    event: 'ProvisioningFailed: storageclass.storage.k8s.io "fast" not found',
  }),
  row('a class whose volumes are made by hand', {
    classes: [['hand', { provisioner: 'kubernetes.io/no-provisioner' }]],
    claim: aClaim('c', { storageClassName: 'hand' }),
    event: 'ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner',
  }),
]

test('which volume a claim gets', async (t) => {
  for (const { name, volumes = [], claim, classes = [], bound, event } of rows) {
    await t.test(name, async () => {
      await using cluster = await binder()
      for (const each of classes) await cluster.create(StorageClass, aClass(...each))
      for (const volume of volumes) await cluster.create(PersistentVolume, volume)
      await cluster.advance({ seconds: 1 })
      await cluster.create(PersistentVolumeClaim, claim)
      await cluster.advance({ seconds: 2 })
      const after = await cluster.get(PersistentVolumeClaim, 'default', 'c')
      assert.equal(after.metadata.annotations?.['pv.kubernetes.io/bind-completed'], bound === undefined ? undefined : 'yes')
      assert.equal(after.status?.phase, bound === undefined ? 'Pending' : 'Bound')
      if (bound !== undefined) {
        assert.equal(after.spec.volumeName, bound)
        const volume = await cluster.get(PersistentVolume, '', bound)
        assert.equal(volume.status?.phase, 'Bound')
        assert.equal(volume.spec.claimRef?.uid, after.metadata.uid)
        assert.deepEqual(after.status?.capacity, volume.spec.capacity)
        assert.deepEqual(after.status?.accessModes, volume.spec.accessModes)
        const isOurs = (each: V1PersistentVolume | V1PersistentVolumeClaim) =>
          each.metadata.annotations?.['pv.kubernetes.io/bound-by-controller'] === 'yes'
        assert.equal(isOurs(after), claim.spec.volumeName === undefined)
        assert.equal(isOurs(volume), volumes.find(({ metadata }) => metadata.name === bound)?.spec.claimRef === undefined)
      }
      if (event !== undefined) {
        const recorded = (await cluster.list(Event, 'default')).map(({ reason, message }) => `${reason}: ${message}`)
        assert.ok(recorded.includes(event), recorded.join('\n'))
      }
    })
  }
})

test('claims that wait get a volume, a class or a default class that comes later', async () => {
  await using cluster = await binder()
  await cluster.create(PersistentVolumeClaim, aClaim('by-hand', { storageClassName: '' }))
  await cluster.create(PersistentVolumeClaim, aClaim('by-default'))
  await cluster.create(PersistentVolumeClaim, aClaim('by-class', { storageClassName: 'fast' }))
  await cluster.create(PersistentVolumeClaim, aClaim('by-name', { storageClassName: '', volumeName: 'late' }))
  await cluster.advance({ seconds: 1 })
  await cluster.create(PersistentVolume, aVolume('v'))
  await cluster.create(StorageClass, aClass('fast', { provisioner: 'example.com/disks' }))
  await cluster.create(PersistentVolume, aVolume('late', { size: '50Gi' }))
  const isDefault = { 'storageclass.kubernetes.io/is-default-class': 'true' }
  await cluster.create(StorageClass, { ...aClass('standard'), metadata: { name: 'standard', annotations: isDefault } })
  await cluster.advance({ seconds: 1 })
  const claim = (name: string) => cluster.get(PersistentVolumeClaim, 'default', name)
  assert.equal((await claim('by-hand')).spec.volumeName, 'v')
  assert.equal((await claim('by-name')).status?.phase, 'Bound')
  assert.equal((await claim('by-default')).spec.storageClassName, 'standard')
  for (const [name, provisioner] of [
    ['by-class', 'example.com/disks'],
    ['by-default', 'sim.example.com'],
  ] as const) {
    const { annotations = {} } = (await claim(name)).metadata
    assert.equal(annotations['volume.kubernetes.io/storage-provisioner'], provisioner)
    assert.equal(annotations['volume.beta.kubernetes.io/storage-provisioner'], provisioner)
  }
})

test('a volume whose claim is gone is kept, given back scrubbed, or failed, as its policy says', async () => {
  await using cluster = await FakeCluster.start({
    controllers: ['persistentvolume-binder', 'pvc-protection', 'pv-protection'],
    fateOf: () => 'succeeds',
  })
  for (const persistentVolumeReclaimPolicy of ['Retain', 'Recycle', 'Delete']) {
    const name = persistentVolumeReclaimPolicy.toLowerCase()
    await cluster.create(StorageClass, aClass(name, { provisioner: 'kubernetes.io/no-provisioner' }))
    await cluster.create(
      PersistentVolume,
      aVolume(name, { persistentVolumeReclaimPolicy, storageClassName: name, hostPath: { path: '/data' } }),
    )
    await cluster.create(PersistentVolumeClaim, aClaim(name, { storageClassName: name }))
  }
  await cluster.advance({ seconds: 2 })
  for (const name of ['retain', 'recycle', 'delete']) {
    assert.equal((await cluster.get(PersistentVolumeClaim, 'default', name)).status?.phase, 'Bound', name)
    await cluster.client.delete(PersistentVolumeClaim, { namespace: 'default', name })
  }
  await cluster.advance({ seconds: 1 })
  const phase = async (name: string) => (await cluster.get(PersistentVolume, '', name)).status
  assert.equal((await phase('retain'))?.phase, 'Released')
  assert.equal((await phase('recycle'))?.phase, 'Released')
  const scrubber = await cluster.get(Pod, 'default', 'recycler-for-recycle')
  assert.deepEqual(scrubber.spec.volumes?.[0]?.hostPath?.path, '/data')
  assert.equal(scrubber.spec.activeDeadlineSeconds, 300)
  assert.deepEqual(await phase('delete').then((status) => [status?.phase, status?.message]), [
    'Failed',
    'host_path deleter only supports /tmp/.+ but received provided /data',
  ])
  await cluster.advance({ seconds: 10 })
  assert.equal((await phase('recycle'))?.phase, 'Available')
  const recycled = await cluster.get(PersistentVolume, '', 'recycle')
  assert.equal(recycled.spec.claimRef, undefined)
  assert.equal(await cluster.find(Pod, 'default', 'recycler-for-recycle'), undefined)
  const recorded = (await cluster.list(Event, 'default')).map(({ reason, message }) => `${reason}: ${message}`)
  assert.ok(recorded.includes('VolumeRecycled: Volume recycled'), recorded.join('\n'))
})

test('a pod of the recycler’s name that somebody else made proves nothing', async () => {
  await using cluster = await FakeCluster.start({ controllers: ['persistentvolume-binder', 'pvc-protection'], fateOf: () => 'succeeds' })
  const forged = {
    metadata: { namespace: 'default', name: 'recycler-for-v' },
    spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' },
  }
  await cluster.create(Pod, forged)
  await cluster.create(PersistentVolume, aVolume('v', { persistentVolumeReclaimPolicy: 'Recycle', hostPath: { path: '/data' } }))
  await cluster.create(PersistentVolumeClaim, aClaim('c', manual))
  await cluster.advance({ seconds: 5 })
  await cluster.client.delete(PersistentVolumeClaim, { namespace: 'default', name: 'c' })
  await cluster.advance({ seconds: 1 })
  assert.equal((await cluster.get(PersistentVolume, '', 'v')).status?.message, 'Recycle failed: old recycler pod found, will retry later')
  await cluster.advance({ seconds: 30 })
  assert.equal((await cluster.get(PersistentVolume, '', 'v')).status?.phase, 'Available')
  const recorded = (await cluster.list(Event, 'default')).map(({ reason }) => reason).filter((reason) => reason?.startsWith('Volume'))
  assert.deepEqual(recorded, ['VolumeFailedRecycle', 'VolumeRecycled'])
})

test('a claim whose volume is gone, or another’s, is lost; and that is told once', async () => {
  await using cluster = await binder()
  await cluster.create(PersistentVolume, aVolume('v'))
  await cluster.create(PersistentVolumeClaim, aClaim('c', manual))
  await cluster.advance({ seconds: 1 })
  await cluster.change(PersistentVolume, '', 'v', ({ metadata }) => void Object.assign(metadata, { finalizers: [] }))
  await cluster.client.delete(PersistentVolume, { name: 'v' })
  await cluster.advance({ seconds: 1 })
  const claim = await cluster.get(PersistentVolumeClaim, 'default', 'c')
  assert.deepEqual(claim.status, { phase: 'Lost' })
  const lost = (await cluster.list(Event, 'default')).filter(({ reason }) => reason === 'ClaimLost')
  assert.deepEqual(
    lost.map(({ message, count }) => [message, count]),
    [['Bound claim has lost its PersistentVolume. Data on the volume is lost!', 1]],
  )
  // Somebody brings it back, for another claim.
  await cluster.create(PersistentVolume, aVolume('v', { claimRef: { namespace: 'default', name: 'other', uid: 'u' } }))
  await cluster.advance({ seconds: 1 })
  assert.equal((await cluster.get(PersistentVolumeClaim, 'default', 'c')).status?.phase, 'Lost')
})

test('of two volumes that were made for a claim the one it does not get is released, or given back', async () => {
  await using cluster = await binder()
  await cluster.create(PersistentVolume, aVolume('v'))
  const claim = await cluster.create(PersistentVolumeClaim, aClaim('c', manual))
  await cluster.advance({ seconds: 1 })
  const claimRef = { namespace: 'default', name: 'c', uid: claim.metadata.uid ?? '' }
  const made = { 'pv.kubernetes.io/provisioned-by': 'example.com/disks' }
  const second = aVolume('made', { persistentVolumeReclaimPolicy: 'Delete', claimRef, ...csi })
  await cluster.create(PersistentVolume, { ...second, metadata: { ...second.metadata, annotations: made } })
  await cluster.create(PersistentVolume, aVolume('reserved', { claimRef }))
  await cluster.advance({ seconds: 1 })
  assert.equal((await cluster.get(PersistentVolume, '', 'made')).status?.phase, 'Released')
  const reserved = await cluster.get(PersistentVolume, '', 'reserved')
  assert.equal(reserved.status?.phase, 'Available')
  assert.equal(reserved.spec.claimRef?.uid, undefined)
  assert.equal(reserved.spec.claimRef?.name, 'c')
  assert.equal((await cluster.get(PersistentVolumeClaim, 'default', 'c')).spec.volumeName, 'v')
})
