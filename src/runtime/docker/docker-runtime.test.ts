/** Docker as a runtime, over a Docker in memory. test/by-hand/docker.ts has the same and more over a real one. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import { silentLogger } from '#base/log.ts'
import { systemRandom } from '#base/random.ts'
import { whyNoSystemCalls } from '#base/system-calls.ts'
import { DockerRuntime } from '#runtime/docker/docker-runtime.ts'
import { FakeDocker } from '#runtime/docker/testing/fake-docker.ts'
import type { NetworkedPod } from '#runtime/sandboxes/pod-networking.ts'
import { containerStates, namespaceModes, sandboxStates } from '#wire/cri/cri-types.ts'

const skip = whyNoSystemCalls() ?? false

class World implements AsyncDisposable {
  readonly docker = new FakeDocker()
  readonly directory = mkdtempSync(join(tmpdir(), 'tn-fake-docker-'))
  readonly networked: string[] = []
  readonly killed: number[] = []
  networkProblem: string | undefined
  runtime!: DockerRuntime

  static async start(): Promise<World> {
    const world = new World()
    await world.open()
    return world
  }

  async open(): Promise<void> {
    this.docker.images.set('pause:1', this.docker.images.get('app:1') ?? '')
    this.runtime = await DockerRuntime.open(
      {
        ...{ endpoint: '/nowhere', directory: join(this.directory, 'runtime'), sandboxImage: 'pause:1' },
        networking: {
          problem: async () => this.networkProblem,
          attach: async ({ id, namespacePath }: NetworkedPod) => {
            if (this.networkProblem !== undefined) throw new Error(this.networkProblem)
            this.networked.push(`attach ${Number(id)} ${namespacePath}`)
            return ['10.1.2.3']
          },
          detach: async ({ id, namespacePath }: NetworkedPod) => void this.networked.push(`detach ${Number(id)} ${namespacePath}`),
        },
      },
      {
        ...{ files: nodeFiles, clock: systemClock, random: systemRandom, logger: silentLogger, http: () => this.docker },
        processes: { kill: (pid: number) => void this.killed.push(pid) } as never,
      },
    )
  }

  async sandbox(uid = 'u1', network: number = namespaceModes.pod) {
    const labels = { 'io.kubernetes.pod.uid': uid, 'io.kubernetes.pod.name': 'web', 'io.kubernetes.pod.namespace': 'shop' }
    const config = {
      ...{ metadata: { name: 'web', namespace: 'shop', uid, attempt: 0 }, labels, hostname: 'web' },
      ...{ logDirectory: join(this.directory, 'logs', uid), dnsConfig: { servers: ['10.96.0.10'], searches: ['a.b'], options: [] } },
      linux: { cgroupParent: '/kubepods/podu1', securityContext: { namespaceOptions: { network } }, sysctls: { 'net.x': '1' } },
    }
    const { podSandboxId } = await this.runtime.service.runPodSandbox({ config, runtimeHandler: '' })
    return { podSandboxId, config }
  }

  async container({ podSandboxId, config }: Awaited<ReturnType<World['sandbox']>>, command = ['serve'], more = {}) {
    const container = {
      ...{ metadata: { name: 'main', attempt: 1 }, image: { image: 'app:1' }, command, logPath: 'main/1.log' },
      ...{ labels: config.labels, annotations: { note: 'kept' } },
      ...more,
    }
    return (await this.runtime.service.createContainer({ podSandboxId, config: container, sandboxConfig: config })).containerId
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runtime[Symbol.asyncDispose]()
    rmSync(this.directory, { recursive: true, force: true })
  }
}

test('a pod lives and dies: a sandbox with a network, a container in its namespaces, and nothing left', { skip }, async () => {
  await using world = await World.start()
  const { service } = world.runtime
  const sandbox = await world.sandbox()
  const { podSandboxId } = sandbox
  assert.deepEqual(world.networked, [`attach 1 /proc/${4001}/ns/net`])
  const { status } = await service.podSandboxStatus({ podSandboxId })
  assert.deepEqual([status?.state, status?.network?.ip], [sandboxStates.ready, '10.1.2.3'])
  const held = world.docker.containers.get(podSandboxId)
  assert.equal(held?.name, '/k8s_POD_web_shop_u1_0')
  const { NetworkMode, IpcMode, CgroupParent, Sysctls } = held.request.HostConfig
  assert.deepEqual([NetworkMode, IpcMode, CgroupParent, Sysctls], ['none', 'shareable', '/kubepods/podu1', { 'net.x': '1' }])

  const containerId = await world.container(sandbox)
  const made = world.docker.containers.get(containerId)
  assert.equal(made?.name, '/k8s_main_web_shop_u1_1')
  const shared = `container:${podSandboxId}`
  assert.deepEqual([made.request.HostConfig.NetworkMode, made.request.HostConfig.IpcMode], [shared, shared])
  const mounted = made.request.HostConfig.Mounts?.find(({ Target }) => Target === '/etc/resolv.conf')
  assert.equal(readFileSync(mounted?.Source ?? '', 'utf8'), 'nameserver 10.96.0.10\nsearch a.b\n')
  const state = async () => (await service.containerStatus({ containerId })).status
  assert.equal((await state())?.state, containerStates.created)
  await service.startContainer({ containerId })
  const running = await state()
  assert.deepEqual([running?.state, running?.metadata, running?.annotations], [1, { name: 'main', attempt: 1 }, { note: 'kept' }])
  assert.equal(running?.labels['io.kubernetes.pod.uid'], 'u1')

  await service.stopContainer({ containerId, timeout: 30 })
  assert.ok(world.docker.requests.includes(`POST /containers/${containerId}/stop?t=30`))
  const ended = await state()
  assert.deepEqual([ended?.state, ended?.exitCode, ended?.reason], [containerStates.exited, 0, 'Completed'])
  await service.removePodSandbox({ podSandboxId })
  assert.deepEqual(world.networked.slice(1), ['detach 1 /proc/4001/ns/net'])
  assert.equal(world.docker.containers.size, 0)
  assert.ok(!existsSync(join(world.directory, 'runtime/sandboxes', podSandboxId)))
  await service.removePodSandbox({ podSandboxId })
})

test('a pod with the network of its node is given none', { skip }, async () => {
  await using world = await World.start()
  const { podSandboxId } = await world.sandbox('u1', namespaceModes.node)
  assert.equal(world.docker.containers.get(podSandboxId)?.request.HostConfig.NetworkMode, 'host')
  await world.runtime.service.removePodSandbox({ podSandboxId })
  assert.deepEqual(world.networked, [])
})

test('a sandbox without a network is no sandbox', { skip }, async () => {
  await using world = await World.start()
  world.networkProblem = 'cni plugin not initialized'
  await assert.rejects(world.sandbox(), /cni plugin not initialized/)
  assert.equal(world.docker.containers.size, 0)
  const { status } = await world.runtime.service.status({ verbose: false })
  assert.deepEqual(
    status?.conditions.map(({ type, status: isWell, reason }) => [type, isWell, reason]),
    [
      ['RuntimeReady', true, ''],
      ['NetworkReady', false, 'NetworkPluginNotReady'],
    ],
  )
})

test('a program that is not there, and one that took too much memory', { skip }, async () => {
  await using world = await World.start()
  const { service } = world.runtime
  const sandbox = await world.sandbox()
  const failing = await world.container(sandbox, ['/no/such'])
  await assert.rejects(service.startContainer({ containerId: failing }), /failed to start container: .*no such file or directory/)
  const { containers } = await service.listContainers({})
  assert.deepEqual(
    containers.map(({ state }) => state),
    [containerStates.exited],
  )
  const failed = (await service.containerStatus({ containerId: failing })).status
  assert.deepEqual([failed?.exitCode, failed?.reason, failed?.startedAt], [127, 'ContainerCannotRun', failed?.createdAt])
  const hungry = await world.container(sandbox, ['eat'], { metadata: { name: 'hungry', attempt: 0 } })
  await service.startContainer({ containerId: hungry })
  world.docker.end(hungry, 137, { OOMKilled: true })
  const killed = (await service.containerStatus({ containerId: hungry })).status
  assert.deepEqual([killed?.exitCode, killed?.reason], [137, 'OOMKilled'])
})

test('a name that is taken by a container that never ran is freed; one that runs is left', { skip }, async () => {
  await using world = await World.start()
  const sandbox = await world.sandbox()
  const first = await world.container(sandbox)
  const second = await world.container(sandbox)
  assert.ok(!world.docker.containers.has(first))
  await world.runtime.service.startContainer({ containerId: second })
  const third = await world.container(sandbox)
  assert.ok(world.docker.containers.has(second))
  assert.match(world.docker.containers.get(third)?.name ?? '', /^\/k8s_main_web_shop_u1_1_[0-9a-f]{8}$/)
})

test('output goes into the log, through rotations, Docker away and an agent that is started again', { skip }, async () => {
  await using world = await World.start()
  const sandbox = await world.sandbox()
  const containerId = await world.container(sandbox)
  await world.runtime.service.startContainer({ containerId })
  const log = join(world.directory, 'logs/u1/main/1.log')
  assert.equal(readFileSync(log, 'utf8'), '')
  const time = (second: number) => `2026-01-02T03:04:0${second}.000000001Z`
  const until = async (text: string) => {
    while (!readFileSync(log, 'utf8').endsWith(text)) await systemClock.sleep(2)
  }
  world.docker.write(containerId, 1, time(1), 'one\n')
  await until('one\n')
  world.docker.cut()
  world.docker.write(containerId, 2, time(2), 'two\n')
  await until('two\n')
  await world.runtime[Symbol.asyncDispose]()
  world.docker.write(containerId, 1, time(3), 'three\n')
  await world.open()
  await until('three\n')
  await world.runtime.service.reopenContainerLog({ containerId })
  world.docker.write(containerId, 1, time(4), 'last words')
  world.docker.end(containerId, 0)
  // Whoever hears of the end finds all of it.
  await world.runtime.service.containerStatus({ containerId })
  const lines = [`${time(1)} stdout F one`, `${time(2)} stderr F two`, `${time(3)} stdout F three`, `${time(4)} stdout F last words`]
  assert.deepEqual(readFileSync(log, 'utf8').trimEnd().split('\n'), lines)
})

test('the next agent takes pods over, and removes what was never finished', { skip }, async () => {
  await using world = await World.start()
  const { podSandboxId } = await world.sandbox()
  const unfinished = await world.sandbox('u2')
  await world.runtime[Symbol.asyncDispose]()
  rmSync(join(world.directory, 'runtime/sandboxes', unfinished.podSandboxId, 'sandbox.json'))
  await world.open()
  const { items } = await world.runtime.service.listPodSandbox({ filter: { labelSelector: { 'io.kubernetes.pod.name': 'web' } } })
  assert.deepEqual(
    items.map(({ id, metadata }) => [id, metadata?.uid]),
    [[podSandboxId, 'u1']],
  )
  assert.ok(!world.docker.containers.has(unfinished.podSandboxId))
})

test('pods that change are told of, and that Docker is away', { skip }, async () => {
  await using world = await World.start()
  const heard: string[] = []
  const lost = Promise.withResolvers<GrpcError>()
  using _ = world.runtime.onEvent(({ containerEventType, podSandboxStatus }) => {
    heard.push(`${containerEventType} ${podSandboxStatus?.metadata?.uid}`)
  }, lost.resolve)
  const sandbox = await world.sandbox()
  const containerId = await world.container(sandbox)
  await world.runtime.service.startContainer({ containerId })
  world.docker.end(containerId, 3)
  while (heard.length < 5) await systemClock.sleep(2)
  assert.deepEqual(heard.sort(), ['0 u1', '0 u1', '1 u1', '1 u1', '2 u1'])
  world.docker.isAway = true
  world.docker.cut()
  assert.equal((await lost.promise).code, grpcCodes.unavailable)
  await assert.rejects(world.runtime.service.listContainers({}), (error: GrpcError) => error.code === grpcCodes.unavailable)
  const { status } = await world.runtime.service.status({ verbose: false })
  assert.equal(status?.conditions[0]?.reason, 'DockerDaemonNotReady')
  world.docker.isAway = false
})

test('commands: their output and code, those that cannot be started, and those that take too long', { skip }, async () => {
  await using world = await World.start()
  const { service } = world.runtime
  const sandbox = await world.sandbox()
  const containerId = await world.container(sandbox)
  await assert.rejects(service.execSync({ containerId, cmd: ['x'], timeout: 60 }), /container is in created state/)
  await service.startContainer({ containerId })
  world.docker.runCommand = () => ({ stdout: 'out\n', stderr: 'err\n', exitCode: 7 })
  const { exitCode, stdout, stderr } = await service.execSync({ containerId, cmd: ['x'], timeout: 60 })
  assert.deepEqual([exitCode, String(stdout), String(stderr)], [7, 'out\n', 'err\n'])
  const refusal = 'OCI runtime exec failed: exec failed: unable to start container process: exec: "x": executable file not found in $PATH'
  world.docker.runCommand = () => ({ stdout: refusal, exitCode: 126 })
  await assert.rejects(service.execSync({ containerId, cmd: ['x'], timeout: 60 }), /executable file not found/)
  world.docker.runCommand = () => undefined
  const late = (error: unknown) => error instanceof GrpcError && error.code === grpcCodes.deadlineExceeded
  await assert.rejects(service.execSync({ containerId, cmd: ['x'], timeout: 0.01 }), late)
  assert.deepEqual(world.killed, [4242])
})

test('limits are changed in place', { skip }, async () => {
  await using world = await World.start()
  const { service } = world.runtime
  const containerId = await world.container(await world.sandbox())
  const linux = { cpuQuota: 40_000, cpuPeriod: 100_000, cpuShares: 512, memoryLimitInBytes: 64 << 20 }
  await service.updateContainerResources({ containerId, linux })
  const { status } = await service.containerStatus({ containerId })
  const { memorySwapLimitInBytes, ...limits } = status?.resources?.linux ?? {}
  assert.deepEqual({ ...limits, ...linux }, limits)
  assert.equal(memorySwapLimitInBytes, 64 << 20)
})
