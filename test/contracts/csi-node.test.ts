/** What a node promises to CSI drivers and to pods that use their volumes, over a driver behind a socket. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Node, PersistentVolume, PersistentVolumeClaim, ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { CSIDriver, CSINode, VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSIDriver, V1VolumeAttachment } from '#api/storage/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { thisHost } from '#base/host.ts'
import { silentLogger } from '#base/log.ts'
import { nodeMounts } from '#base/mounts.ts'
import { nodeProcesses } from '#base/processes.ts'
import { seededRandom } from '#base/random.ts'
import { NodeCsi } from '#kubelet/csi/node-csi.ts'
import { volumeMetrics } from '#kubelet/volumes/mountable/volume-metrics.ts'
import { boundClaim } from '#kubelet/volumes/testing/bound-claim.ts'
import { cannotMount, TestNode } from '#testing/test-node.ts'
import { TestDriver, type TestDriverOptions } from '../support/csi-driver/csi-driver.ts'
import { everyFault } from '../support/csi-driver/driver-faults.ts'

const skip = cannotMount
const cannotLoop: string | false =
  cannotMount || ((await nodeProcesses.run('losetup', ['-f'])).exitCode === 0 ? false : 'no loop devices here')
const driverName = 'disks.test'

class CsiWorld implements AsyncDisposable {
  readonly node: TestNode
  readonly csi: NodeCsi
  readonly driver: TestDriver
  readonly #stack: AsyncDisposableStack

  private constructor(node: TestNode, csi: NodeCsi, driver: TestDriver, stack: AsyncDisposableStack) {
    this.node = node
    this.csi = csi
    this.driver = driver
    this.#stack = stack
  }

  static async start(rules: Partial<V1CSIDriver['spec']> = {}, options: Partial<TestDriverOptions> = {}): Promise<CsiWorld> {
    await using stack = new AsyncDisposableStack()
    const made: NodeCsi[] = []
    const node = stack.use(
      await TestNode.start({
        withCsi({ client, clock, root }) {
          const csi = new NodeCsi({
            ...{ nodeName: 'n1', rootDirectory: root, client, clock, random: seededRandom(5), logger: silentLogger, files: nodeFiles },
            ...{ mounts: nodeMounts, processes: nodeProcesses, host: thisHost, isInUse: () => false },
          })
          made.push(csi)
          return csi
        },
      }),
    )
    const csi = stack.use(made[0] as NodeCsi)
    const { client: admin } = node.cluster
    await admin.create(Node, { metadata: { name: 'n1' } } as V1Node)
    await admin.create(CSIDriver, { metadata: { name: driverName }, spec: { attachRequired: false, ...rules } } as V1CSIDriver)
    const registry = join(node.root, 'plugins_registry')
    const driver = stack.use(
      await TestDriver.start({ name: driverName, nodeId: 'machine-1', directory: join(node.root, 'driver'), registry, ...options }),
    )
    await node.now(csi.start())
    await node.now(driver.registered)
    return new CsiWorld(node, csi, driver, stack.move())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }

  /** A claim of a disk that the driver has. */
  async claim(name: string, { isBlock = false, fsType = 'ext4' } = {}): Promise<void> {
    const id = `disk-${name}`
    await this.driver.disks.make({ id, sizeBytes: 32 << 20, isBlock, fsType, publishedTo: [], parameters: {} })
    const csi = { driver: driverName, volumeHandle: id, fsType }
    await boundClaim(this.node.cluster, name, { csi, ...(isBlock ? { volumeMode: 'Block' } : {}) })
  }

  async seen(pod: V1Pod): Promise<string> {
    await this.node.sandbox(pod)
    return this.node.seen(await this.node.container(pod), '/v')
  }

  cleanUp(pod: V1Pod): Promise<void> {
    return this.node.now(this.node.runtimeHelper.cleanUp(pod))
  }

  /** Time passes until it is over: what hangs has its limit. */
  async over<T>(promise: Promise<T>): Promise<T> {
    let isOver = false
    const done = () => {
      isOver = true
    }
    promise.then(done, done)
    while (!isOver) await this.pass()
    return promise
  }

  /** A little time passes, but not while sockets and disks are at work, which take time of the other kind. */
  async pass(): Promise<void> {
    const { clock } = this.node.cluster
    for (let turn = 0; turn < 20; turn++) {
      await clock.settle()
      if (this.driver.faults.isBusy) turn = 0
    }
    await clock.advance(500)
  }

  async leftovers(): Promise<string[]> {
    return nodeMounts.below(this.node.root)
  }
}

const withClaim = (claimName: string, spec: Partial<V1PodSpec> = {}): Partial<V1PodSpec> => ({
  volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
  containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
  ...spec,
})

test('a driver that registers is in CSINode with its id, limit and topology, and goes with its socket', { skip }, async () => {
  await using world = await CsiWorld.start({}, { maxVolumes: 7, topology: { 'disks.test/zone': 'a' } })
  const { node, driver } = world
  await node.settle()
  const { spec } = await node.cluster.client.get(CSINode, '', 'n1')
  const found = spec.drivers?.find(({ name }) => name === driverName)
  assert.deepEqual(found, { name: driverName, nodeID: 'machine-1', topologyKeys: ['disks.test/zone'], allocatable: { count: 7 } })
  assert.equal((await node.cluster.client.get(Node, '', 'n1')).metadata?.labels?.['disks.test/zone'], 'a')
  await driver.die()
  for (;;) {
    await node.settle()
    const left = (await node.cluster.client.get(CSINode, '', 'n1')).spec.drivers?.map(({ name }) => name)
    if (!left?.includes(driverName)) break
  }
})

for (const fsType of ['ext4', 'xfs'] as const) {
  const lacks =
    cannotLoop ||
    ((await nodeProcesses.run('sh', ['-c', `command -v mkfs.${fsType}`])).exitCode === 0 ? false : `mkfs.${fsType} is not installed`)
  test(`a disk with ${fsType}: staged once for two pods, given to the group, taken off after the last`, { skip: lacks }, async () => {
    await using world = await CsiWorld.start({}, { usesLoop: true })
    const { node, driver } = world
    await driver.disks.make({
      id: 'disk-data',
      sizeBytes: (fsType === 'xfs' ? 320 : 32) << 20,
      isBlock: false,
      fsType,
      publishedTo: [],
      parameters: {},
    })
    await boundClaim(node.cluster, 'data', { csi: { driver: driverName, volumeHandle: 'disk-data', fsType } })
    const one = await node.create(withClaim('data', { securityContext: { fsGroup: 55 } }))
    const path = await world.seen(one)
    assert.equal(path, `${node.root}/pods/${one.metadata.uid}/volumes/kubernetes.io~csi/pv-data/mount`)
    assert.equal((await fs.stat(path)).gid, 55)
    await fs.writeFile(join(path, 'file'), 'kept')
    const two = await node.create(withClaim('data'), { name: 'two' })
    assert.equal(await fs.readFile(join(await world.seen(two), 'file'), 'utf8'), 'kept')
    await world.cleanUp(one)
    assert.equal(driver.faults.count('nodeUnstageVolume'), 0)
    await world.cleanUp(two)
    assert.equal(driver.faults.count('nodeUnstageVolume'), 1)
    assert.deepEqual(await world.leftovers(), [])
    const again = await node.create(withClaim('data'), { name: 'again' })
    assert.equal(await fs.readFile(join(await world.seen(again), 'file'), 'utf8'), 'kept')
    await world.cleanUp(again)
  })
}

test('a raw disk: a link to the device, which the container gets', { skip: cannotLoop }, async () => {
  await using world = await CsiWorld.start()
  const { node } = world
  await world.claim('raw', { isBlock: true })
  const pod = await node.create({
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'raw' } }],
    containers: [{ name: 'app', image: 'app:1', volumeDevices: [{ name: 'v', devicePath: '/dev/xvda' }] }],
  })
  await node.sandbox(pod)
  const { devices = [] } = await node.container(pod)
  assert.equal(devices.length, 1)
  assert.equal(devices[0]?.containerPath, '/dev/xvda')
  assert.ok((await fs.stat(devices[0]?.hostPath ?? '')).isBlockDevice())
  await world.cleanUp(pod)
  assert.deepEqual(await world.leftovers(), [])
})

const faults = ['nodeStageVolume', 'nodePublishVolume'] as const
const endFaults = ['nodeUnpublishVolume', 'nodeUnstageVolume'] as const

for (const method of faults) {
  test(`${method} that fails, hangs, loses its answer or is sent twice: the pod gets its volume, once`, { skip }, async () => {
    await using world = await CsiWorld.start()
    const { node, driver } = world
    await world.claim('data')
    driver.faults.next(method, ...everyFault)
    const pod = await node.create(withClaim('data'))
    await world.over(node.runtimeHelper.prepareSandbox(pod, new AbortController().signal))
    assert.equal(driver.faults.left(method), 0)
    const step = method === 'nodeStageVolume' ? 'MountDevice' : 'SetUp'
    for (const why of ['told to fail', 'context deadline exceeded', 'the answer is lost']) {
      assert.ok(node.events.includes(`FailedMount: MountVolume.${step} failed for volume "pv-data" : ${why}`), node.events.join('\n'))
    }
    const path = await node.seen(await node.container(pod), '/v')
    assert.deepEqual(
      (await world.leftovers()).filter((place) => place === path),
      [path],
    )
    await world.cleanUp(pod)
    assert.deepEqual(await world.leftovers(), [])
  })
}

for (const method of endFaults) {
  test(`${method} that fails, hangs or loses its answer: what is left is kept in mind, and taken off by the next try`, {
    skip,
  }, async () => {
    await using world = await CsiWorld.start()
    const { node, driver } = world
    await world.claim('data')
    const pod = await node.create(withClaim('data'))
    await world.seen(pod)
    driver.faults.next(method, ...everyFault)
    await assert.rejects(world.cleanUp(pod), /told to fail/)
    await assert.rejects(world.over(node.runtimeHelper.cleanUp(pod)), /context deadline exceeded/)
    await assert.rejects(world.cleanUp(pod), /the answer is lost/)
    await world.cleanUp(pod)
    assert.deepEqual(await world.leftovers(), [])
    assert.deepEqual(await fs.readdir(`${node.root}/pods`), [])
  })
}

test('a driver is registered though it fails, hangs, loses answers and answers twice when it is asked who it is', { skip }, async () => {
  await using world = await CsiWorld.start()
  const { node, csi, driver } = world
  const isKnown = () => csi.drivers.find(driverName) !== undefined
  const passes = async (holds: () => boolean) => {
    while (!holds()) await world.pass()
  }
  await driver.die()
  await passes(() => !isKnown())
  driver.faults.next('nodeGetInfo', ...everyFault)
  driver.faults.next('nodeGetCapabilities', ...everyFault)
  await driver.listen()
  await passes(isKnown)
  assert.equal(driver.faults.left('nodeGetInfo'), 0)
  await world.claim('data')
  const pod = await node.create(withClaim('data'))
  await world.over(node.runtimeHelper.prepareSandbox(pod, new AbortController().signal))
  assert.equal(driver.faults.left('nodeGetCapabilities'), 0)
  await world.cleanUp(pod)
  assert.deepEqual(await world.leftovers(), [])
})

test('how full a volume is: left out while its driver fails or hangs', { skip }, async () => {
  await using world = await CsiWorld.start()
  const { node, driver } = world
  await world.claim('data')
  const pod = await node.create(withClaim('data'))
  await world.seen(pod)
  const metrics = volumeMetrics({ volumes: node.runtimeHelper.mountable, host: thisHost, clock: node.cluster.clock })
  driver.faults.next('nodeGetVolumeStats', ...everyFault)
  const seen: boolean[] = []
  for (let round = 0; round <= everyFault.length; round++) {
    seen.push((await world.over(metrics())).includes('kubelet_volume_stats_used_bytes'))
    await node.cluster.clock.advance(60_000)
  }
  assert.deepEqual(seen, [false, false, false, true, true])
  await world.cleanUp(pod)
})

test('a driver that hangs keeps no other pod, and one that is gone is told of until it is back', { skip }, async () => {
  await using world = await CsiWorld.start()
  const { node, driver } = world
  await world.claim('slow')
  await world.claim('fast')
  const { promise: until, resolve } = Promise.withResolvers<void>()
  driver.faults.next('nodePublishVolume', { kind: 'hang', until })
  const slow = await node.create(withClaim('slow'))
  const waiting = node.runtimeHelper.prepareSandbox(slow, new AbortController().signal)
  while (driver.faults.count('nodePublishVolume') === 0) await node.cluster.clock.settle()
  const fast = await node.create(withClaim('fast'), { name: 'fast' })
  await world.seen(fast)
  resolve()
  await node.now(waiting)
  await driver.die()
  while (world.csi.drivers.find(driverName) !== undefined) await node.cluster.clock.settle()
  await assert.rejects(world.cleanUp(slow), /driver name disks.test not found in the list of registered CSI drivers/)
  await driver.listen()
  while (world.csi.drivers.find(driverName) === undefined) {
    await node.cluster.clock.settle()
    await node.cluster.clock.advance(500)
  }
  await world.cleanUp(slow)
  await world.cleanUp(fast)
  assert.deepEqual(await world.leftovers(), [])
})

test('another run of the agent unpublishes and unstages what pods that are gone have left', { skip }, async () => {
  await using world = await CsiWorld.start()
  const { node, driver } = world
  await world.claim('data')
  await world.seen(await node.create(withClaim('data')))
  node.runtimeHelper.stop()
  const later = await node.restarted()
  await node.now(later.resume([]))
  assert.equal(driver.faults.count('nodeUnpublishVolume'), 1)
  assert.equal(driver.faults.count('nodeUnstageVolume'), 1)
  assert.deepEqual(await world.leftovers(), [])
})

test('a volume written in the pod itself: the driver is told of the pod and has its tokens', { skip }, async () => {
  const rules = { volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true, tokenRequests: [{ audience: 'vault' }] }
  await using world = await CsiWorld.start(rules)
  const { node, driver } = world
  await node.cluster.client.create(ServiceAccount, { metadata: { name: 'default', namespace: 'default' } })
  const pod = await node.create({
    serviceAccountName: 'default',
    volumes: [{ name: 'v', csi: { driver: driverName, volumeAttributes: { colour: 'blue' } } }],
    containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
  })
  await fs.writeFile(join(await world.seen(pod), 'x'), '')
  const published = driver.faults.calls.find(({ name }) => name === 'nodePublishVolume')
  const volumeContext = (published?.request as { volumeContext?: Record<string, string> } | undefined)?.volumeContext ?? {}
  const { 'csi.storage.k8s.io/serviceAccount.tokens': tokens = '{}', ...rest } = volumeContext
  assert.deepEqual(rest, {
    colour: 'blue',
    'csi.storage.k8s.io/ephemeral': 'true',
    'csi.storage.k8s.io/pod.name': 'web',
    'csi.storage.k8s.io/pod.namespace': 'default',
    'csi.storage.k8s.io/pod.uid': pod.metadata.uid,
    'csi.storage.k8s.io/serviceAccount.name': 'default',
  })
  assert.match((JSON.parse(tokens) as { vault: { token: string } }).vault.token, /^ey/)
  assert.equal(driver.faults.count('nodeStageVolume'), 0)
  await world.cleanUp(pod)
  assert.deepEqual(await world.leftovers(), [])
  const id = driver.faults.calls.find(({ name }) => name === 'nodeUnpublishVolume')?.request as { volumeId: string }
  assert.match(id.volumeId, /^csi-[0-9a-f]{64}$/)
})

test('a volume that must be attached first is in use before it is attached, and mounted with what the attacher said', {
  skip,
}, async () => {
  await using world = await CsiWorld.start({ attachRequired: true })
  const { node, driver } = world
  const { client, clock } = node.cluster
  await world.claim('data')
  const pod = await node.create(withClaim('data'))
  const waiting = node.runtimeHelper.prepareSandbox(pod, new AbortController().signal)
  const uniqueName = `kubernetes.io/csi/${driverName}^disk-data`
  while (node.runtimeHelper.volumesInUse.length === 0) await clock.settle()
  assert.deepEqual(node.runtimeHelper.volumesInUse, [uniqueName])
  const attachment = `csi-${createHash('sha256').update(`disk-data${driverName}n1`).digest('hex')}`
  const spec = { attacher: driverName, nodeName: 'n1', source: { persistentVolumeName: 'pv-data' } }
  const made = await client.create(VolumeAttachment, { metadata: { name: attachment }, spec } as V1VolumeAttachment)
  await client.updateStatus(VolumeAttachment, { ...made, status: { attached: true, attachmentMetadata: { device: 'sdx' } } })
  const tell = (status: object) => client.patch(Node, { name: 'n1' }, { status }, { type: 'merge', subresource: 'status' })
  // Attached, but the node has not said yet that it uses it: it might be detached again.
  await tell({ volumesAttached: [{ name: uniqueName, devicePath: '' }] })
  await clock.advance(5000)
  assert.equal(driver.faults.count('nodeStageVolume'), 0)
  await tell({ volumesInUse: [uniqueName] })
  await world.over(waiting)
  const staged = driver.faults.calls.find(({ name }) => name === 'nodeStageVolume')?.request as { publishContext?: object } | undefined
  assert.deepEqual(staged?.publishContext, { device: 'sdx' })
  await world.cleanUp(pod)
  assert.deepEqual(node.runtimeHelper.volumesInUse, [])
})

test('a volume that has grown is made larger on the node, and its claim says so; one that must be published again is', {
  skip,
}, async () => {
  await using world = await CsiWorld.start({ requiresRepublish: true })
  const { node, driver } = world
  const { client } = node.cluster
  await world.claim('data')
  const pod = await node.create(withClaim('data'))
  await world.seen(pod)
  await node.now(node.runtimeHelper.refresh(pod))
  assert.equal(driver.faults.count('nodeExpandVolume'), 0)
  assert.equal(driver.faults.count('nodePublishVolume'), 2)
  const capacity = { storage: '2Gi' }
  await client.patch(PersistentVolume, { name: 'pv-data' }, { spec: { capacity } }, { type: 'merge' })
  const conditions = [{ type: 'FileSystemResizePending', status: 'True' }]
  const pending = { conditions, allocatedResourceStatuses: { storage: 'NodeResizePending' } }
  await client.patch(
    PersistentVolumeClaim,
    { namespace: 'default', name: 'data' },
    { status: pending },
    { type: 'merge', subresource: 'status' },
  )
  driver.faults.next('nodeExpandVolume', ...everyFault)
  for (const why of ['told to fail', 'context deadline exceeded', 'the answer is lost']) {
    await world.over(node.runtimeHelper.refresh(pod))
    assert.equal(node.events.at(-1), `FileSystemResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "pv-data" : ${why}`)
  }
  await node.now(node.runtimeHelper.refresh(pod))
  assert.equal(driver.faults.left('nodeExpandVolume'), 0)
  const { status } = await client.get(PersistentVolumeClaim, 'default', 'data')
  assert.deepEqual(status?.capacity, capacity)
  assert.deepEqual([status?.conditions ?? [], status?.allocatedResourceStatuses ?? {}], [[], {}])
  await world.cleanUp(pod)
})
