import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { ResourceClaim, ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import type { V1ResourceClaim, V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { grpcChannel } from '#base/grpc.ts'
import { silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { ClaimManager } from '#kubelet/dra/claim-manager.ts'
import { TestDraDriver, type TestDraDriverOptions } from '#kubelet/dra/testing/test-dra-driver.ts'
import { PluginRegistration } from '#kubelet/plugins/plugin-registration.ts'
import { servePodResources } from '#kubelet/pod-resources/pod-resources-server.ts'
import { FakeCluster } from '#testing/fake-cluster.ts'
import { podResourcesMethods } from '#wire/kubelet/pod-resources-messages.ts'

const driverName = 'gpu.example.com'

class World implements AsyncDisposable {
  readonly cluster: FakeCluster
  readonly root: string
  readonly pods = new Map<string, V1Pod>()
  readonly unwell: string[] = []
  claims: ClaimManager
  readonly #stack: AsyncDisposableStack

  private constructor(cluster: FakeCluster, root: string, stack: AsyncDisposableStack) {
    this.cluster = cluster
    this.root = root
    this.#stack = stack
    this.claims = undefined as never
  }

  static async start(): Promise<World> {
    const stack = new AsyncDisposableStack()
    const cluster = stack.use(await FakeCluster.start({ withoutNodes: true }))
    const root = await nodeFiles.temporaryDirectory('tn-dra-')
    stack.defer(() => nodeFiles.remove(root))
    await cluster.client.create(Node, { metadata: { name: 'n1' } } as V1Node)
    const world = new World(cluster, root, stack)
    await world.open()
    stack.defer(() => world.claims[Symbol.asyncDispose]())
    return world
  }

  async open(): Promise<void> {
    const { client, clock } = this.cluster
    this.claims = await ClaimManager.open({
      ...{ nodeName: 'n1', rootDirectory: this.root, client, clock, files: nodeFiles, logger: silentLogger, metrics: new Metrics() },
      activePods: () => [...this.pods.values()],
      onHealth: (uid) => void this.unwell.push(uid),
    })
    const handlers = { DRAPlugin: this.claims.drivers.register }
    const directory = join(this.root, 'plugins_registry')
    const registration = new PluginRegistration({ directory, files: nodeFiles, clock, logger: silentLogger, handlers })
    this.#stack.use(registration)
    await registration.start()
  }

  async driver(options: Partial<TestDraDriverOptions> = {}): Promise<TestDraDriver> {
    const registry = join(this.root, 'plugins_registry')
    const driver = this.#stack.use(
      await TestDraDriver.start({
        ...{ name: driverName, directory: this.root, registry },
        devices: () => [
          { requestNames: ['gpu'], poolName: 'n1', deviceName: 'gpu-0', cdiDeviceIds: ['example.com/gpu=0'], shareId: '' },
          { requestNames: ['nic'], poolName: 'n1', deviceName: 'nic-0', cdiDeviceIds: ['example.com/nic=0'], shareId: '' },
        ],
        ...options,
      }),
    )
    assert.deepEqual(await this.now(driver.registered), { pluginRegistered: true, error: '' })
    return driver
  }

  /** A claim that is allocated and reserved for these pods. */
  async claim(name: string, podUids: string[]): Promise<void> {
    const { client } = this.cluster
    const request = (each: string) => ({ name: each, exactly: { deviceClassName: 'gpu' } })
    const made = await client.create(ResourceClaim, {
      metadata: { name, namespace: 'default' },
      spec: { devices: { requests: [request('gpu'), request('nic')] } },
    } as V1ResourceClaim)
    await client.updateStatus(ResourceClaim, {
      ...made,
      status: {
        allocation: {
          devices: { results: ['gpu', 'nic'].map((each) => ({ request: each, driver: driverName, pool: 'n1', device: `${each}-0` })) },
        },
        reservedFor: podUids.map((uid) => ({ resource: 'pods', name: uid, uid })),
      },
    })
  }

  async now<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false
    const done = () => {
      isSettled = true
    }
    promise.then(done, done)
    while (!isSettled) await this.cluster.clock.settle()
    return promise
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.cluster.clock.settle()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.now(this.#stack.disposeAsync())
  }
}

function podOf(uid: string, claim: string, requests: (string | undefined)[] = [undefined]): V1Pod {
  const claims = requests.map((request) => ({ name: 'device', ...defined({ request }) }))
  return {
    metadata: { name: uid, namespace: 'default', uid },
    spec: {
      containers: [{ name: 'app', image: 'app:1', resources: { claims } }],
      resourceClaims: [{ name: 'device', resourceClaimName: claim }],
    },
  } as V1Pod
}

const appOf = (pod: V1Pod) => pod.spec.containers[0] as V1Pod['spec']['containers'][number]

for (const service of ['v1.DRAPlugin', 'v1beta1.DRAPlugin'] as const) {
  test(`claims are prepared once, shared, and unprepared when the last pod has ended (${service})`, async () => {
    await using world = await World.start()
    const driver = await world.driver({ service })
    await world.claim('shared', ['one', 'two'])
    const [one, two] = [podOf('one', 'shared'), podOf('two', 'shared', ['gpu'])]
    await world.now(world.claims.prepare(one))
    await world.now(world.claims.prepare(two))
    assert.deepEqual(driver.calls, ['prepare default/shared'])
    assert.deepEqual(world.claims.cdiDevicesOf(one, appOf(one)), ['example.com/gpu=0', 'example.com/nic=0'])
    assert.deepEqual(world.claims.cdiDevicesOf(two, appOf(two)), ['example.com/gpu=0'])
    await world.now(world.claims.unprepare(one))
    assert.deepEqual(driver.calls, ['prepare default/shared'])
    await world.now(world.claims.unprepare(two))
    await world.now(world.claims.unprepare(two))
    assert.deepEqual(driver.calls, ['prepare default/shared', 'unprepare default/shared'])
  })
}

test('a pod waits for its driver, for its reservation, and for a driver that refuses', async () => {
  await using world = await World.start()
  await world.claim('mine', ['one'])
  const prepare = (pod: V1Pod) => world.now(world.claims.prepare(pod))
  const words = (text: string) => ({ message: `prepare dynamic resources: ${text}` })
  await assert.rejects(prepare(podOf('one', 'mine')), words('DRA driver gpu.example.com is not registered'))
  const driver = await world.driver()
  await assert.rejects(prepare(podOf('other', 'mine')), /pod other \(other\) is not allowed to use ResourceClaim mine/)
  driver.failsWith = 'no such GPU'
  await assert.rejects(prepare(podOf('one', 'mine')), words('NodePrepareResources failed for ResourceClaim mine: no such GPU'))
  driver.failsWith = ''
  await prepare(podOf('one', 'mine'))
})

test('the next agent knows what was prepared, and undoes what pods that are gone have left', async () => {
  await using world = await World.start()
  const driver = await world.driver()
  await world.claim('kept', ['one'])
  const pod = podOf('one', 'kept')
  await world.now(world.claims.prepare(pod))
  await world.now(world.claims[Symbol.asyncDispose]())
  const text = await nodeFiles.readText(join(world.root, 'dra_manager_state'))
  assert.match(text, /"Checksum":\d+/)
  assert.match(
    (JSON.parse(text) as { Data: string }).Data,
    /^\{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io\/v1","ClaimInfoStateList":\[/,
  )
  await world.now(world.open())
  assert.deepEqual(world.claims.cdiDevicesOf(pod, appOf(pod)), ['example.com/gpu=0', 'example.com/nic=0'])
  await world.cluster.clock.advance({ seconds: 61 })
  await world.until(() => driver.calls.includes('unprepare default/kept'))
})

test('health of devices reaches those who ask, and grows old', async () => {
  await using world = await World.start()
  const driver = await world.driver()
  await world.claim('mine', ['one'])
  const pod = podOf('one', 'mine', ['gpu'])
  await world.now(world.claims.prepare(pod))
  const health = () => world.claims.healthOf(pod, appOf(pod))
  const status = (word: string, more = {}) => [
    { name: 'claim:device/gpu', resources: [{ resourceID: 'example.com/gpu=0', health: word, ...more }] },
  ]
  assert.deepEqual(health(), status('Unknown'))
  const seconds = Math.floor(world.cluster.clock.now() / 1000)
  const report = { device: { poolName: 'n1', deviceName: 'gpu-0' }, lastUpdatedTime: seconds, healthCheckTimeoutSeconds: 0, message: '' }
  await world.until(() => {
    driver.tell([{ ...report, health: 2 }])
    return world.unwell.includes('one')
  })
  assert.deepEqual(health(), status('Unhealthy'))
  await world.until(() => {
    driver.tell([{ ...report, health: 2, message: 'too hot' }])
    return JSON.stringify(health()).includes('too hot')
  })
  assert.deepEqual(health(), status('Unhealthy', { message: 'too hot' }))
  await world.cluster.clock.advance({ seconds: 31 })
  assert.deepEqual(health(), status('Unknown'))
})

test('the devices of a driver that stays away are taken from the cluster', async () => {
  await using world = await World.start()
  const { client } = world.cluster
  const slice = (name: string, nodeName: string) =>
    ({
      metadata: { name },
      spec: { driver: driverName, nodeName, pool: { name: nodeName, generation: 1, resourceSliceCount: 1 }, devices: [{ name: 'gpu-0' }] },
    }) as V1ResourceSlice
  const names = async () => (await client.list(ResourceSlice)).items.map(({ metadata }) => metadata?.name)
  const driver = await world.driver()
  await client.create(ResourceSlice, slice('here', 'n1'))
  await client.create(ResourceSlice, slice('there', 'n2'))
  await driver[Symbol.asyncDispose]()
  for (;;) {
    await world.cluster.clock.advance({ seconds: 5 })
    if ((await world.now(names())).join() === 'there') break
  }
})

test('monitoring programs are told which pod has what', async () => {
  await using world = await World.start()
  await world.driver()
  await world.claim('mine', ['one'])
  const pod = podOf('one', 'mine')
  await world.now(world.claims.prepare(pod))
  const record = { resource: 'example.com/nic', devices: { '0': ['a'], '1': ['a', 'b'], '-1': ['c'] } }
  const server = await servePodResources({
    ...{ rootDirectory: world.root, files: nodeFiles, metrics: new Metrics(), claims: world.claims },
    resources: {
      cpus: { exclusiveCpusOf: () => new Set([3, 2]), allocatable: new Set([1, 2, 3]) },
      memory: { blocksOf: () => [{ type: 'memory', size: 1024, numaAffinity: [1] }], allocatable: [] },
      devices: { devicesOf: () => [record], allocatable: [record] },
    } as never,
    pods: () => [pod],
    isActive: () => true,
  })
  try {
    using channel = await grpcChannel(`unix://${join(world.root, 'pod-resources/kubelet.sock')}`)
    const { list, get, getAllocatableResources, listAlpha } = podResourcesMethods
    const options = { timeoutMs: 60_000 }
    const listed = list.decodeResponse(await channel.unary(list.path, list.encodeRequest({}), options)).podResources
    assert.equal(listed.length, 1)
    const [container] = listed[0]?.containers ?? []
    assert.deepEqual(container?.cpuIds, [2, 3])
    assert.deepEqual(
      container?.devices.map(({ deviceIds, topology }) => [deviceIds.join(), topology?.nodes.map(({ id }) => id)]),
      [
        ['a', [0, 1]],
        ['b', [1]],
        ['c', undefined],
      ],
    )
    assert.equal(container?.memory[0]?.size, 1024)
    assert.equal(container?.dynamicResources[0]?.claimResources[0]?.cdiDevices[0]?.name, 'example.com/gpu=0')
    const found = get.decodeResponse(await channel.unary(get.path, get.encodeRequest({ podName: 'one', podNamespace: 'default' }), options))
    assert.deepEqual(found.podResources, listed[0])
    const absent = channel.unary(get.path, get.encodeRequest({ podName: 'two', podNamespace: 'default' }), options)
    await assert.rejects(absent, { message: 'pod two in namespace default not found' })
    const all = getAllocatableResources.decodeResponse(
      await channel.unary(getAllocatableResources.path, getAllocatableResources.encodeRequest({}), options),
    )
    assert.deepEqual(all.cpuIds, [1, 2, 3])
    const [alpha] = listAlpha.decodeResponse(await channel.unary(listAlpha.path, listAlpha.encodeRequest({}), options)).podResources
    assert.deepEqual(alpha?.containers[0]?.cpuIds, [])
    assert.equal(alpha?.containers[0]?.devices.length, 3)
  } finally {
    await server.close()
  }
})
