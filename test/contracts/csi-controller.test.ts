/** What is done for CSI drivers that bring no sidecars, over a driver behind a socket. */
import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import { Node, PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { formatMicroTime } from '#api/meta/time.ts'
import { CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSIDriver, V1CSINode, V1StorageClass, V1VolumeAttachment } from '#api/storage/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { GrpcError, grpcChannel } from '#base/grpc.ts'
import { silentLogger } from '#base/log.ts'
import { seededRandom } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { RegisteredDrivers } from '#controllers/csi/registered-drivers.ts'
import { installDefinitions } from '#controllers/kit/install-definitions.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'
import { snapshotContentController } from '#controllers/volume-snapshot/content-controller.ts'
import { snapshotResources, VolumeSnapshot, VolumeSnapshotClass, VolumeSnapshotContent } from '#controllers/volume-snapshot/definitions.ts'
import { volumeSnapshotController } from '#controllers/volume-snapshot/snapshot-controller.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'
import { callerByClock } from '#wire/csi/caller-by-clock.ts'
import { answerBytes, callerOver, isCsiMethod } from '#wire/csi/csi-driver.ts'
import type { CsiMethodName } from '#wire/csi/csi-types.ts'
import { TestDriver } from '../support/csi-driver/csi-driver.ts'
import { everyFault } from '../support/csi-driver/driver-faults.ts'

const driverName = 'disks.test'
const binder = ['persistentvolume-binder', 'pvc-protection', 'pv-protection']

type WorldOptions = { annotations?: Record<string, string>; faulty?: readonly CsiMethodName[] }

class ControllerWorld implements AsyncDisposable {
  readonly cluster: FakeCluster
  readonly driver: TestDriver
  readonly drivers: RegisteredDrivers
  readonly #stack: AsyncDisposableStack

  private constructor(cluster: FakeCluster, driver: TestDriver, drivers: RegisteredDrivers, stack: AsyncDisposableStack) {
    this.cluster = cluster
    this.driver = driver
    this.drivers = drivers
    this.#stack = stack
  }

  /** `faulty` are the calls at which everything goes wrong once. */
  static async start({ annotations = {}, faulty = [] }: WorldOptions = {}): Promise<ControllerWorld> {
    await using stack = new AsyncDisposableStack()
    const directory = await nodeFiles.temporaryDirectory('tn csi ')
    stack.defer(() => nodeFiles.remove(directory))
    const topology = { 'disks.test/zone': 'a' }
    const driver = stack.use(
      await TestDriver.start({ name: driverName, nodeId: 'machine-1', directory, registry: join(directory, 'registry'), topology }),
    )
    for (const name of faulty) driver.faults.next(name, ...everyFault)
    const cluster = stack.use(await FakeCluster.start({ withoutNodes: true, controllers: binder }))
    const { client: admin, clock } = cluster
    const channel = stack.use(await grpcChannel(`unix://${driver.socket}`))
    const caller = callerByClock(callerOver(channel), clock)
    // What the agent of the node would do with the call.
    const post = async (target: string, body: string): Promise<string> => {
      const [, name = '', timeoutMs] = /\/nodes\/n1\/proxy\/csi\/disks\.test\/(\w+)\?timeoutMs=(\d+)/.exec(target) ?? []
      assert.ok(isCsiMethod(name), target)
      try {
        const answer = await answerBytes(caller, name, Buffer.from(body, 'base64'), Number(timeoutMs))
        return JSON.stringify({ response: Buffer.from(answer).toString('base64') })
      } catch (error) {
        if (error instanceof GrpcError) return JSON.stringify({ code: error.code, message: error.message })
        throw error
      }
    }
    const client = new Proxy(admin, {
      get: (of, key) => (key === 'post' ? post : bound(of, Reflect.get(of, key, of))),
    }) as Client
    await admin.create(Node, { metadata: { name: 'n1', labels: topology }, spec: {} })
    const drivers = [{ name: driverName, nodeID: 'machine-1', topologyKeys: ['disks.test/zone'] }]
    await admin.create(CSINode, { metadata: { name: 'n1' }, spec: { drivers } } as V1CSINode)
    await admin.create(CSIDriver, { metadata: { name: driverName, annotations }, spec: { storageCapacity: true } } as V1CSIDriver)
    const served = stack.use(new RegisteredDrivers({ client, clock, random: seededRandom(4), logger: silentLogger }))
    served.start()
    const storageClass = { metadata: { name: 'disks' }, provisioner: driverName, allowVolumeExpansion: true, parameters: { colour: 'red' } }
    await admin.create(StorageClass, storageClass as V1StorageClass)
    return new ControllerWorld(cluster, driver, served, stack.move())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }

  /** Time passes until it holds: sockets and disks are real. */
  async until(what: string, holds: () => Promise<boolean>, { stepMs = 200 } = {}): Promise<void> {
    for (let turn = 0; turn < 3000; turn++) {
      if (await holds()) return
      await this.cluster.clock.settle()
      // Or a call would be given up for no fault of the driver's.
      if (this.driver.faults.isBusy) turn--
      else await this.cluster.clock.advance(stepMs)
    }
    assert.fail(`it never came about: ${what}`)
  }

  async claim(name: string, spec: Partial<V1PersistentVolumeClaim['spec']> = {}): Promise<void> {
    await this.cluster.client.create(PersistentVolumeClaim, {
      metadata: { name, namespace: 'default' },
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'disks', resources: { requests: { storage: '20Mi' } }, ...spec },
    } as V1PersistentVolumeClaim)
  }

  async bound(name: string) {
    const { client } = this.cluster
    await this.until(`${name} is bound`, async () => (await client.get(PersistentVolumeClaim, 'default', name)).status?.phase === 'Bound')
    const claim = await client.get(PersistentVolumeClaim, 'default', name)
    return client.get(PersistentVolume, '', claim.spec?.volumeName ?? '')
  }

  async stop(manager: ControllerManager): Promise<void> {
    this.#stack.defer(() => manager.stop())
  }
}

const bound = (of: object, value: unknown): unknown => (typeof value === 'function' ? value.bind(of) : value)

test('volumes are made where the driver says, attached, enlarged, modified and deleted, though every call fails, hangs, loses its answer and comes twice', async () => {
  const faulty = [
    ...(['getPluginCapabilities', 'controllerGetCapabilities', 'createVolume', 'controllerPublishVolume'] as const),
    ...(['controllerExpandVolume', 'controllerModifyVolume', 'controllerUnpublishVolume', 'deleteVolume'] as const),
  ]
  await using world = await ControllerWorld.start({ faulty })
  const { driver, cluster } = world
  const { client } = cluster
  await world.claim('data')
  const volume = await world.bound('data')
  const { csi, nodeAffinity } = volume.spec ?? {}
  assert.deepEqual(csi, {
    driver: driverName,
    volumeHandle: `vol-${volume.metadata?.name}`,
    fsType: 'ext4',
    volumeAttributes: { made: 'here' },
  })
  const [term] = nodeAffinity?.required?.nodeSelectorTerms ?? []
  assert.deepEqual(term?.matchExpressions, [{ key: 'disks.test/zone', operator: 'In', values: ['a'] }])
  assert.deepEqual(await driver.disks.list(), [csi?.volumeHandle])
  assert.deepEqual((await driver.disks.find(csi?.volumeHandle ?? ''))?.parameters, { colour: 'red' })

  const attachment = {
    metadata: { name: 'a' },
    spec: { attacher: driverName, nodeName: 'n1', source: { persistentVolumeName: volume.metadata?.name } },
  }
  await client.create(VolumeAttachment, attachment as V1VolumeAttachment)
  await world.until('it is attached', async () => (await client.get(VolumeAttachment, '', 'a')).status?.attached === true)
  const { status } = await client.get(VolumeAttachment, '', 'a')
  assert.deepEqual(status?.attachmentMetadata, { device: `disk-of-${csi?.volumeHandle}` })

  const patch = (spec: object) => client.patch(PersistentVolumeClaim, { namespace: 'default', name: 'data' }, { spec }, { type: 'merge' })
  await patch({ resources: { requests: { storage: '40Mi' } } })
  const sizeNow = async () => (await driver.disks.find(csi?.volumeHandle ?? ''))?.sizeBytes
  await world.until('it is larger', async () => (await sizeNow()) === 40 << 20)
  await world.until('the node is to enlarge it', async () => {
    const claim = await client.get(PersistentVolumeClaim, 'default', 'data')
    return claim.status?.allocatedResourceStatuses?.['storage'] === 'NodeResizePending'
  })
  await client.create(VolumeAttributesClass, { metadata: { name: 'fast' }, driverName, parameters: { iops: '9000' } })
  await patch({ volumeAttributesClassName: 'fast' })
  await world.until('it is modified', async () => driver.modified.get(csi?.volumeHandle ?? '')?.['iops'] === '9000')

  await client.delete(VolumeAttachment, { name: 'a' })
  await world.until('it is detached', async () => (await driver.disks.find(csi?.volumeHandle ?? ''))?.publishedTo.length === 0)
  await client.delete(PersistentVolumeClaim, { namespace: 'default', name: 'data' })
  await world.until('it is gone', async () => (await client.list(PersistentVolume)).items.length === 0)
  assert.deepEqual(await driver.disks.list(), [])
  assert.deepEqual(
    faulty.filter((name) => driver.faults.left(name) > 0),
    [],
  )
})

test('a driver that takes a minute for every call serves 200 claims at once, and takes all of it back', async () => {
  await using world = await ControllerWorld.start()
  const { driver, cluster } = world
  const { client, clock } = cluster
  driver.faults.delay = () => clock.sleep(60_000)
  const names = Array.from({ length: 200 }, (_, index) => `claim-${index}`)
  await Promise.all(names.map((name) => world.claim(name)))
  const volumes = async () => (await client.list(PersistentVolume)).items
  const isBound = ({ status }: { status?: { phase?: string } }) => status?.phase === 'Bound'
  const rare = { stepMs: 5000 }
  await world.until('all are bound', async () => (await volumes()).filter(isBound).length === names.length, rare)
  assert.equal(new Set((await volumes()).map(({ spec }) => spec?.claimRef?.name)).size, names.length)
  // Nobody was asked twice.
  assert.equal(driver.faults.count('createVolume'), names.length)
  await Promise.all(names.map((name) => client.delete(PersistentVolumeClaim, { namespace: 'default', name })))
  await world.until('all are gone', async () => (await volumes()).length === 0, rare)
  assert.deepEqual(await driver.disks.list(), [])
})

test('room is told by place and class, and a volume that is unwell to its user, though every call goes wrong', async () => {
  await using world = await ControllerWorld.start({ faulty: ['getCapacity', 'controllerGetVolume'] })
  const { cluster, driver } = world
  await world.claim('data')
  const volume = await world.bound('data')
  await world.until('room is told', async () => (await cluster.client.list(CSIStorageCapacity)).items.length === 1)
  const [capacity] = (await cluster.client.list(CSIStorageCapacity)).items
  assert.equal(capacity?.storageClassName, 'disks')
  assert.deepEqual(capacity?.nodeTopology?.matchLabels, { 'disks.test/zone': 'a' })
  assert.equal(capacity?.capacity, String(10 * 2 ** 30))
  driver.abnormal.add(volume.spec?.csi?.volumeHandle ?? '')
  await world.until('the claim hears of it', async () => {
    const text = await cluster.client.raw('/api/v1/namespaces/default/events')
    return text.includes('VolumeConditionAbnormal') && text.includes('the disk clicks')
  })
  await world.until('all faults are over', async () => driver.faults.left('getCapacity') + driver.faults.left('controllerGetVolume') === 0)
})

test('snapshots are taken, restored from, copied and deleted, though every call goes wrong', async () => {
  await using world = await ControllerWorld.start({ faulty: ['createSnapshot', 'deleteSnapshot'] })
  const { cluster, driver, drivers } = world
  const { client, clock } = cluster
  await clock.during(installDefinitions(client, snapshotResources, { clock }))
  const controllers = [volumeSnapshotController(), snapshotContentController((name) => drivers.snapshotCaller(name))]
  const manager = new ControllerManager({
    client,
    clock,
    random: seededRandom(6),
    logger: silentLogger,
    controllers,
    settings: defaultSettings,
  })
  await world.stop(manager)
  await clock.during(manager.start())
  const annotations = { 'snapshot.storage.kubernetes.io/is-default-class': 'true' }
  await client.create(VolumeSnapshotClass, { metadata: { name: 'snaps', annotations }, driver: driverName, deletionPolicy: 'Delete' })
  await world.claim('data')
  const volume = await world.bound('data')
  await fs.writeFile(join(driver.disks.pathOf(volume.spec?.csi?.volumeHandle ?? ''), 'file'), 'one')
  const source = { source: { persistentVolumeClaimName: 'data' } }
  await client.create(VolumeSnapshot, VolumeSnapshot.make({ metadata: { name: 'taken', namespace: 'default' }, spec: source }))
  const taken = () => client.get(VolumeSnapshot, 'default', 'taken')
  await world.until('the snapshot is ready', async () => (await taken()).status?.readyToUse === true)
  const { status, spec } = await taken()
  assert.equal(spec.volumeSnapshotClassName, 'snaps')
  assert.equal(Number(status?.restoreSize), 20 << 20)
  await fs.writeFile(join(driver.disks.pathOf(volume.spec?.csi?.volumeHandle ?? ''), 'file'), 'two')
  const contentOf = async (name: string) =>
    fs.readFile(join(driver.disks.pathOf((await world.bound(name)).spec?.csi?.volumeHandle ?? ''), 'file'), 'utf8')
  await world.claim('restored', { dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'taken' } })
  await world.claim('clone', { dataSource: { kind: 'PersistentVolumeClaim', name: 'data' } })
  assert.deepEqual([await contentOf('restored'), await contentOf('clone')], ['one', 'two'])
  await client.delete(VolumeSnapshot, { namespace: 'default', name: 'taken' })
  await world.until('the snapshot is gone', async () => (await client.list(VolumeSnapshotContent)).items.length === 0)
  assert.ok(!(await driver.disks.list()).some((id) => id.startsWith('snap-')))
})

test('a driver with a provisioner of its own keeps it, and one that says so is left alone', async () => {
  await using world = await ControllerWorld.start({ annotations: { 'typernetes.dev/csi-controller': 'external' } })
  await world.claim('data')
  for (let turn = 0; turn < 50; turn++) {
    await world.cluster.clock.settle()
    await world.cluster.clock.advance(200)
  }
  assert.equal(world.driver.faults.count('createVolume'), 0)
  const { client, clock } = world.cluster
  const spec = { holderIdentity: 'sidecar-1', renewTime: formatMicroTime(clock.now() * 1000), leaseDurationSeconds: 15 }
  await client.create(Lease, { metadata: { name: 'disks-test', namespace: 'default' }, spec })
  await client.patch(
    CSIDriver,
    { name: driverName },
    { metadata: { annotations: { 'typernetes.dev/csi-controller': null } } },
    { type: 'merge' },
  )
  await world.until('the driver is asked what it can do', async () => world.driver.faults.count('controllerGetCapabilities') > 0)
  for (let turn = 0; turn < 50; turn++) {
    await world.cluster.clock.settle()
    await world.cluster.clock.advance(200)
  }
  assert.equal(world.driver.faults.count('createVolume'), 0)
  // Its lease runs out: nobody else is there.
  await world.bound('data')
})
