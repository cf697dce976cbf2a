import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { defaultKubeletConfiguration, type KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { aDevice, TestDevicePlugin, type TestDevicePluginOptions } from '#kubelet/devices/testing/test-device-plugin.ts'
import { NodeResources } from '#kubelet/resources/node-resources.ts'
import type { Placement } from '#kubelet/runtimes/plans.ts'
import { type MachineShape, machineOf } from '#kubelet/topology/testing/machines.ts'

const gpu = 'example.com/gpu'
const twoNodes: MachineShape = { sockets: 2, nodesPerSocket: 1, coresPerNode: 4, threadsPerCore: 1 }

class World implements AsyncDisposable {
  readonly root: string
  readonly clock = new VirtualClock(Date.now())
  metrics = new Metrics()
  readonly pods = new Map<string, V1Pod>()
  readonly placed: [string, Placement][] = []
  readonly health: string[] = []
  resources: NodeResources
  readonly #configuration: Partial<KubeletConfiguration>
  readonly #shape: MachineShape
  readonly #stack = new AsyncDisposableStack()
  #onChange: () => void = () => {}

  private constructor(root: string, configuration: Partial<KubeletConfiguration>, shape: MachineShape) {
    this.root = root
    this.#configuration = configuration
    this.#shape = shape
    this.resources = undefined as never
  }

  static async start(configuration: Partial<KubeletConfiguration> = {}, shape = twoNodes): Promise<World> {
    const world = new World(await nodeFiles.temporaryDirectory('tn-resources-'), configuration, shape)
    world.#stack.defer(() => nodeFiles.remove(world.root))
    await world.open()
    world.#stack.defer(() => world.resources[Symbol.asyncDispose]())
    return world
  }

  async open(): Promise<void> {
    this.metrics = new Metrics()
    this.resources = await NodeResources.open({
      configuration: { ...defaultKubeletConfiguration(), ...this.#configuration },
      ...{ rootDirectory: this.root, files: nodeFiles, clock: this.clock, logger: silentLogger, metrics: this.metrics },
      topology: machineOf(this.#shape),
      activePods: () => [...this.pods.values()],
      onChange: () => this.#onChange(),
      onHealth: (uid) => void this.health.push(uid),
      place: async (id, placement) => void this.placed.push([id, placement]),
    })
    await this.resources.devices.serve()
  }

  /** As the next agent finds it. */
  async restart(): Promise<void> {
    await this.resources[Symbol.asyncDispose]()
    await this.open()
  }

  async plugin(options: Partial<TestDevicePluginOptions>): Promise<TestDevicePlugin> {
    const plugin = await TestDevicePlugin.start({ directory: this.resources.devices.directory, resource: gpu, devices: [], ...options })
    this.#stack.use(plugin)
    await this.changed(() => plugin.register())
    return plugin
  }

  /** Resolves when the node has something to tell after this was done. */
  async changed(act: () => Promise<void> | void): Promise<void> {
    const heard = new Promise<void>((resolve) => {
      this.#onChange = resolve
    })
    await act()
    await heard
  }

  /** Undefined where it was let in. */
  async admit(pod: V1Pod): Promise<string | undefined> {
    const rejection = await this.resources.admit(pod)
    if (rejection === undefined) this.pods.set(pod.metadata.uid ?? '', pod)
    this.resources.settled(pod.metadata.uid ?? '')
    return rejection && `${rejection.reason}: ${rejection.message}`
  }

  async end(uid: string): Promise<void> {
    this.pods.delete(uid)
    await this.resources.release(uid)
  }

  cpus(uid: string, name = 'app'): string[] {
    return [...(this.resources.cpus?.cpusOf(uid, name) ?? [])].sort((left, right) => left - right).map(String)
  }

  devices(uid: string, name = 'app'): string[] {
    return this.resources.devices.devicesOf(uid, name).flatMap(({ devices }) => Object.values(devices).flat().sort())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }
}

function podOf(uid: string, limits: Record<string, string>, more: Partial<V1Pod['spec']> = {}): V1Pod {
  const container: V1Container = { name: 'app', image: 'app:1', resources: { limits, requests: limits } }
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { containers: [container], ...more } } as V1Pod
}

const staticCpus = { cpuManagerPolicy: 'static', systemReserved: { cpu: '1' } } as const

test('a container of a guaranteed pod gets whole processors, and the others leave them', async () => {
  await using world = await World.start(staticCpus)
  const sharing = podOf('sharing', { cpu: '500m', memory: '1Gi' })
  assert.equal(await world.admit(sharing), undefined)
  sharing.status = {
    containerStatuses: [
      { name: 'app', containerID: 'containerd://s', state: { running: {} }, image: '', imageID: '', ready: true, restartCount: 0 },
    ],
  }
  assert.equal(await world.admit(podOf('own', { cpu: '2', memory: '1Gi' })), undefined)
  assert.deepEqual(world.cpus('own'), ['1', '2'])
  assert.deepEqual(world.cpus('sharing'), ['0', '3', '4', '5', '6', '7'])
  await world.clock.advance({ seconds: 10 })
  assert.deepEqual(world.placed.at(-1), ['containerd://s', { cpus: '0,3-7', memoryNodes: '', isExclusive: false }])
  const { placement } = await world.resources.forContainer(podOf('own', { cpu: '2', memory: '1Gi' }), { name: 'app' })
  assert.deepEqual(placement, { cpus: '1-2', memoryNodes: '', isExclusive: true })
  assert.match(world.metrics.text(), /kubelet_cpu_manager_exclusive_cpu_allocation_count 2/)
  await world.end('own')
  assert.equal(world.cpus('sharing').length, 8)
})

test('processors are the same ones after the agent was started again, and another policy is refused', async () => {
  await using world = await World.start(staticCpus)
  await world.admit(podOf('own', { cpu: '3', memory: '1Gi' }))
  const before = world.cpus('own')
  await world.restart()
  assert.deepEqual(world.cpus('own'), before)
  const path = join(world.root, 'cpu_manager_state')
  const text = await nodeFiles.readText(path)
  assert.match(text, /"policyName":"static","defaultCpuSet":"0,4-7","entries":\{"own":\{"app":"1-3"\}\}/)
  await nodeFiles.write(path, text.replace('1-3', '1-2'))
  await assert.rejects(world.restart(), /checkpoint .* is corrupted.*please drain this node and delete/)
})

test('whole cores only: what does not fill cores is refused', async () => {
  const shape = { sockets: 1, nodesPerSocket: 1, coresPerNode: 4, threadsPerCore: 2 }
  await using world = await World.start({ ...staticCpus, cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } }, shape)
  assert.equal(
    await world.admit(podOf('odd', { cpu: '3', memory: '1Gi' })),
    'SMTAlignmentError: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
  )
  assert.equal(
    await world.admit(podOf('many', { cpu: '8', memory: '1Gi' })),
    'SMTAlignmentError: SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 6, requested CPUs = 8, CPUs per core = 2',
  )
  assert.equal(await world.admit(podOf('even', { cpu: '2', memory: '1Gi' })), undefined)
})

test('processors, memory and devices come from one node, or the pod is refused', async () => {
  const memory = { evictionHard: { 'memory.available': '100Mi' }, reservedMemory: [{ numaNode: 0, limits: { memory: '100Mi' } }] }
  const policies = { memoryManagerPolicy: 'Static', topologyManagerPolicy: 'single-numa-node', ...memory }
  await using world = await World.start({ ...staticCpus, ...policies })
  const plugin = await world.plugin({ devices: [aDevice('a', 1), aDevice('b', 1), aDevice('c', 0)] })
  assert.equal(await world.admit(podOf('first', { cpu: '2', memory: '1Gi', [gpu]: '2' })), undefined)
  assert.deepEqual(world.devices('first'), ['a', 'b'])
  assert.deepEqual(world.cpus('first'), ['4', '5'])
  assert.deepEqual(world.resources.memory?.nodesOf('first', 'app'), [1])
  const refused = 'TopologyAffinityError: Resources cannot be allocated with Topology locality'
  assert.equal(await world.admit(podOf('wide', { cpu: '6', memory: '1Gi' })), refused)
  // What was given before it was refused is free again.
  assert.equal(await world.admit(podOf('last', { cpu: '3', memory: '1Gi', [gpu]: '1' })), undefined)
  assert.deepEqual(world.cpus('last'), ['1', '2', '3'])
  assert.deepEqual(plugin.calls, ['Allocate a,b', 'Allocate c'])
})

test('memory beyond what a node has is refused', async () => {
  const memory = { evictionHard: { 'memory.available': '100Mi' }, reservedMemory: [{ numaNode: 0, limits: { memory: '100Mi' } }] }
  await using world = await World.start({ memoryManagerPolicy: 'Static', ...memory })
  assert.equal(await world.admit(podOf('one', { cpu: '1', memory: '3Gi' })), undefined)
  assert.deepEqual(world.resources.memory?.nodesOf('one', 'app'), [0])
  assert.equal(await world.admit(podOf('two', { cpu: '1', memory: '3Gi' })), undefined)
  assert.deepEqual(world.resources.memory?.nodesOf('two', 'app'), [1])
  assert.match(
    (await world.admit(podOf('three', { cpu: '1', memory: '3Gi' }))) ?? '',
    /^UnexpectedAdmissionError: Allocate failed due to \[memorymanager\]/,
  )
  await world.restart()
  assert.deepEqual(world.resources.memory?.nodesOf('two', 'app'), [1])
  await assert.rejects(World.start({ memoryManagerPolicy: 'Static', evictionHard: {} }), /you should specify the system reserved memory/)
})

test('devices are given with what their plugin says, once, and are kept by the next agent', async () => {
  await using world = await World.start()
  const plugin = await world.plugin({
    devices: [aDevice('a'), aDevice('b'), aDevice('ill', undefined, 'Unhealthy')],
    options: { preStartRequired: true, getPreferredAllocationAvailable: true },
    allocation: (ids) => ({
      envs: { GPUS: ids.join() },
      mounts: [{ containerPath: '/lib/gpu', hostPath: '/opt/gpu', readOnly: true }],
      devices: [{ containerPath: '/dev/gpu', hostPath: '/dev/null', permissions: 'rw' }],
      annotations: { gpu: 'yes' },
      cdiDevices: [{ name: 'example.com/gpu=a' }],
    }),
  })
  plugin.prefers = ['b']
  assert.deepEqual(world.resources.capacity, { capacity: { [gpu]: '3' }, allocatable: { [gpu]: '2' } })
  const pod = podOf('p', { [gpu]: '1' })
  assert.ok(world.resources.concerns(pod))
  assert.equal(await world.admit(pod), undefined)
  const [container] = pod.spec.containers as [V1Container]
  const expected = {
    env: [{ name: 'GPUS', value: 'b' }],
    mounts: [{ containerPath: '/lib/gpu', hostPath: '/opt/gpu', isReadOnly: true }],
    devices: [{ containerPath: '/dev/gpu', hostPath: '/dev/null', permissions: 'rw' }],
    annotations: { gpu: 'yes' },
    cdiDevices: ['example.com/gpu=a'],
  }
  assert.deepEqual((await world.resources.forContainer(pod, container)).extras, expected)
  assert.deepEqual(plugin.calls, ['GetPreferredAllocation a,b', 'Allocate b', 'PreStartContainer b'])
  await world.restart()
  assert.deepEqual(world.resources.capacity, { capacity: { [gpu]: '0' }, allocatable: { [gpu]: '0' } })
  assert.deepEqual(world.devices('p'), ['b'])
  const other = await world.admit(podOf('q', { [gpu]: '1' }))
  assert.equal(
    other,
    'UnexpectedAdmissionError: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices example.com/gpu, which is unexpected',
  )
})

test('a device that falls ill is told of, and one whose plugin is gone is given to nobody', async () => {
  await using world = await World.start()
  const plugin = await world.plugin({ devices: [aDevice('a'), aDevice('b')] })
  await world.admit(podOf('p', { [gpu]: '1' }))
  await world.changed(() => plugin.tell([aDevice('a', undefined, 'Unhealthy'), aDevice('b')]))
  assert.deepEqual(world.resources.capacity, { capacity: { [gpu]: '2' }, allocatable: { [gpu]: '1' } })
  assert.deepEqual(world.health, ['p'])
  assert.deepEqual(world.resources.healthOf('p', 'app'), [{ name: gpu, resources: [{ resourceID: 'a', health: 'Unhealthy' }] }])
  plugin.failsWith = 'device is on fire'
  assert.match((await world.admit(podOf('q', { [gpu]: '1' }))) ?? '', /^UnexpectedAdmissionError: Allocate failed due to device is on fire/)
  assert.match(
    (await world.admit(podOf('r', { [gpu]: '2' }))) ?? '',
    /requested number of devices unavailable for example.com\/gpu. Requested: 2, Available: 1/,
  )
  await world.changed(() => plugin[Symbol.asyncDispose]())
  assert.deepEqual(world.resources.capacity, { capacity: { [gpu]: '2' }, allocatable: { [gpu]: '0' } })
  await world.clock.advance({ seconds: 301 })
  assert.deepEqual(world.resources.capacity, { capacity: { [gpu]: '0' }, allocatable: { [gpu]: '0' } })
})

test('a plugin of another version, or with a name that is no extended resource, is refused', async () => {
  await using world = await World.start()
  const { directory } = world.resources.devices
  await using plugin = await TestDevicePlugin.start({ directory, resource: gpu, devices: [] })
  await assert.rejects(plugin.register('v1alpha'), /requested API version "v1alpha" is not supported by kubelet/)
  await using named = await TestDevicePlugin.start({ directory, resource: 'cpu', devices: [] })
  await assert.rejects(named.register(), /the ResourceName "cpu" is invalid/)
})

test('init containers leave their processors and devices to those that follow', async () => {
  await using world = await World.start(staticCpus)
  await world.plugin({ devices: [aDevice('a'), aDevice('b')] })
  const limits = { cpu: '2', memory: '1Gi', [gpu]: '2' }
  const init: V1Container = { name: 'init', image: 'app:1', resources: { limits, requests: limits } }
  assert.equal(await world.admit(podOf('p', { cpu: '2', memory: '1Gi', [gpu]: '1' }, { initContainers: [init] })), undefined)
  assert.deepEqual(world.cpus('p', 'init'), world.cpus('p', 'app'))
  assert.deepEqual(world.devices('p', 'init'), ['a', 'b'])
  assert.equal(world.devices('p', 'app').length, 1)
})
