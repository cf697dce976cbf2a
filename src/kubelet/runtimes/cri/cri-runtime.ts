import { join } from 'node:path'
import type { V1Container, V1EphemeralContainer, V1Pod } from '#api/core/v1/types.gen.ts'
import { largest } from '#base/append.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import type { ContainerLogLinks } from '#kubelet/logs/container-log-links.ts'
import { UserNamespacedPods } from '#kubelet/metrics/user-namespaced-pods.ts'
import { StartFailure } from '#kubelet/pod-worker/runtime-helper.ts'
import { cgroupDriver } from '#kubelet/runtimes/cri/cgroup-driver.ts'
import { containerConfig } from '#kubelet/runtimes/cri/container-config.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'
import { CriEvents } from '#kubelet/runtimes/cri/cri-events.ts'
import { CriObserver, unlessGone } from '#kubelet/runtimes/cri/cri-observer.ts'
import { criStreams } from '#kubelet/runtimes/cri/cri-streams.ts'
import { healthOf } from '#kubelet/runtimes/cri/health.ts'
import { containerNameIn, planIn, podLabel, userNamespaceAnnotation } from '#kubelet/runtimes/cri/labels.ts'
import { containerResources, type NodeCapacity } from '#kubelet/runtimes/cri/linux-resources.ts'
import { LogRotation, type RotationPolicy, usualRotation } from '#kubelet/runtimes/cri/log-rotation.ts'
import { refuseBelowUsage } from '#kubelet/runtimes/cri/memory-decrease.ts'
import { observedSandbox } from '#kubelet/runtimes/cri/observed-container.ts'
import { podStates } from '#kubelet/runtimes/cri/pod-states.ts'
import { sandboxConfig } from '#kubelet/runtimes/cri/sandbox-config.ts'
import { type ImageUser, namespacesOf, type SecurityOptions, verifyNonRoot } from '#kubelet/runtimes/cri/security-context.ts'
import { freeUserRange, userNamespaceFrom, userNamespaceIn } from '#kubelet/runtimes/cri/user-namespaces.ts'
import { emptySandboxPlan, type Placement, type SandboxPlan } from '#kubelet/runtimes/plans.ts'
import {
  type CreateContainerRequest,
  type ExecResult,
  ExecTimeout,
  type ObservedPod,
  type ObservedSandbox,
  type Runtime,
  type RuntimeEvent,
  type RuntimeHealth,
  type RuntimeStreams,
} from '#kubelet/runtimes/runtime.ts'
import { containerStates, type NamespaceOption, namespaceModes, type SandboxConfig, sandboxStates } from '#wire/cri/cri-types.ts'

export type CriRuntimeOptions = {
  client: CriConnection
  clock: Clock
  logger: Logger
  files: Files
  capacity: NodeCapacity
  security?: SecurityOptions
  /** Absent where containers are put where the runtime likes. */
  cgroups?: PodCgroups
  logRotation?: RotationPolicy
  /** For collectors of logs. */
  logLinks?: Pick<ContainerLogLinks, 'add' | 'remove'>
  metrics?: Metrics
}

const usualSecurity: SecurityOptions = { seccompDirectory: '/var/lib/kubelet/seccomp', defaultSeccomp: 'Unconfined' }
/** Beyond the grace, for the kill and what follows it. */
const stopSlackMs = 2 * 60_000
const sandboxTimeoutMs = 4 * 60_000

/** Containers by any runtime that speaks CRI v1. What must be known after a restart is kept by the runtime itself, as annotations. */
export class CriRuntime implements Runtime {
  readonly version: string
  readonly streams: RuntimeStreams
  readonly #options: CriRuntimeOptions
  readonly #name: string
  readonly #observer: CriObserver
  readonly #events: CriEvents
  readonly #rotation: LogRotation
  readonly #listeners = new Set<(event: RuntimeEvent) => void>()
  readonly #sandboxConfigs = new Map<string, SandboxConfig>()
  readonly #imageUsers = new Map<string, ImageUser>()
  readonly #claimedUsers = new Set<number>()
  readonly #userPods: UserNamespacedPods
  /** Pods that were asked for while the runtime was away: whoever asked is told when it is back. */
  readonly #unseen = new Set<string>()

  private constructor(options: CriRuntimeOptions, name: string, version: string) {
    const { client, clock, logger, files } = options
    this.#options = options
    this.#name = name
    this.#userPods = new UserNamespacedPods(options.metrics ?? new Metrics())
    this.version = `${name}://${version}`
    this.streams = criStreams(client, bareId)
    this.#observer = new CriObserver(client, files, name)
    this.#rotation = new LogRotation({
      ...{ clock, files, logger, ...(options.logRotation ?? usualRotation) },
      logs: () => this.#observer.runningLogs(),
      reopen: async (containerId) => void (await client.call('reopenContainerLog', { containerId })),
    })
    this.#events = new CriEvents({
      ...{ client, clock, logger },
      emit: (podUid) => this.#tell(podUid),
      lastObserved: (podUid) => this.#observer.statesOf(podUid),
      forgetContainer: (id) => this.#observer.forgetContainer(id),
      onBack: () => {
        for (const podUid of [...this.#unseen]) this.#tell(podUid)
        this.#unseen.clear()
      },
    })
  }

  /** Rejects when no runtime answers at the client's socket. */
  static async start(options: CriRuntimeOptions): Promise<CriRuntime> {
    const { runtimeName, runtimeVersion } = await options.client.call('version', { version: '0.1.0' }, { timeoutMs: 10_000 })
    await options.cgroups?.takeUp(await cgroupDriver(options.client))
    const swap = await options.cgroups?.swapControl()
    const capacity = { ...options.capacity, ...defined({ swap }) }
    const runtime = new CriRuntime({ ...options, capacity }, runtimeName, runtimeVersion)
    runtime.#events.start()
    return runtime
  }

  /** Leaves everything running. */
  stop(): void {
    this.#events.stop()
    this.#rotation[Symbol.dispose]()
  }

  runSandbox(pod: V1Pod, plan: SandboxPlan, signal: AbortSignal): Promise<ObservedSandbox> {
    return this.#userPods.sandbox(pod, () => this.#runSandbox(pod, plan, signal))
  }

  async #runSandbox(pod: V1Pod, plan: SandboxPlan, signal: AbortSignal): Promise<ObservedSandbox> {
    const { client, cgroups } = this.#options
    const { items } = await client.call('listPodSandbox', { filter: { labelSelector: { [podLabel.uid]: pod.metadata.uid ?? '' } } })
    const attempt =
      largest(
        -1,
        items.map(({ metadata }) => metadata?.attempt ?? 0),
      ) + 1
    await cgroups?.ensure(pod)
    const users = await this.#claimUsers(pod, plan)
    try {
      const config = this.#sandboxConfig(pod, plan, attempt, users)
      const request = { config, runtimeHandler: plan.runtimeHandler }
      const { podSandboxId } = await client.call('runPodSandbox', request, { signal, timeoutMs: sandboxTimeoutMs })
      this.#sandboxConfigs.set(podSandboxId, config)
      const { status } = await client.call('podSandboxStatus', { podSandboxId })
      if (status === undefined) throw new Error(`the sandbox ${podSandboxId} is gone as soon as it was made`)
      return observedSandbox(status)
    } finally {
      if (users !== undefined) this.#claimedUsers.delete(users)
    }
  }

  async stopSandbox(sandboxId: string): Promise<void> {
    await unlessGone(this.#options.client.call('stopPodSandbox', { podSandboxId: sandboxId }, { timeoutMs: sandboxTimeoutMs }))
  }

  async removeSandbox(sandboxId: string): Promise<void> {
    const { client, cgroups } = this.#options
    const { items } = await client.call('listPodSandbox', { filter: { id: sandboxId } })
    const remove = () => unlessGone(client.call('removePodSandbox', { podSandboxId: sandboxId }, { timeoutMs: sandboxTimeoutMs }))
    try {
      // To stop it once more would take its network down once more, which takes long.
      if (items[0]?.state === sandboxStates.ready) await this.stopSandbox(sandboxId)
      await remove()
    } catch {
      // One whose process has died by itself still has its network.
      await this.stopSandbox(sandboxId)
      await remove()
    }
    this.#sandboxConfigs.delete(sandboxId)
    const podUid = items[0]?.metadata?.uid
    this.#userPods.forget(podUid ?? '')
    if (podUid === undefined || cgroups === undefined) return
    const others = await client.call('listPodSandbox', { filter: { labelSelector: { [podLabel.uid]: podUid } } })
    if (others.items.length === 0) await cgroups.remove(podUid)
  }

  createContainer(request: CreateContainerRequest, signal: AbortSignal): Promise<string> {
    return this.#userPods.creation(request.pod, () => this.#createContainer(request, signal))
  }

  async #createContainer(request: CreateContainerRequest, signal: AbortSignal): Promise<string> {
    const { client, files, capacity, cgroups, security = usualSecurity } = this.#options
    const { sandboxId, pod, container, attempt, plan } = request
    // It may have ended in order to get other resources: the kernel gives it no more than its pod has.
    if (attempt > 0) await cgroups?.follow(pod)
    const sandbox = await this.#configOfSandbox(sandboxId, pod)
    const imageUser = await this.#imageUser(plan.imageRef || (container.image ?? ''))
    verifyNonRoot(pod, container, imageUser)
    const namespaces = await this.#namespacesOf(pod, container, sandbox)
    const config = containerConfig(pod, container, plan, { attempt, imageUser, namespaces, capacity, security })
    if (sandbox.logDirectory) await files.makeDirectory(join(sandbox.logDirectory, container.name), { mode: 0o755 })
    const { containerId } = await client.call('createContainer', { podSandboxId: sandboxId, config, sandboxConfig: sandbox }, { signal })
    if (sandbox.logDirectory) {
      const logPath = join(sandbox.logDirectory, config.logPath ?? '')
      await this.#linked(this.#options.logLinks?.add({ pod, container: container.name, containerId, logPath }))
    }
    return `${this.#name}://${containerId}`
  }

  async startContainer(containerId: string, signal: AbortSignal): Promise<void> {
    const { client } = this.#options
    try {
      await this.#userPods.start(
        containerId,
        async () => void (await client.call('startContainer', { containerId: bareId(containerId) }, { signal })),
      )
    } catch (error) {
      throw error instanceof GrpcError ? new StartFailure('RunContainerError', error.message) : error
    }
  }

  async stopContainer(containerId: string, graceMs: number): Promise<void> {
    const request = { containerId: bareId(containerId), timeout: Math.ceil(graceMs / 1000) }
    await unlessGone(this.#options.client.call('stopContainer', request, { timeoutMs: graceMs + stopSlackMs }))
  }

  async removeContainer(containerId: string): Promise<void> {
    const id = bareId(containerId)
    await unlessGone(this.#options.client.call('removeContainer', { containerId: id }))
    await this.#linked(this.#options.logLinks?.remove(id))
    this.#observer.forgetContainer(id)
  }

  /** Nobody's container is worth less for want of a link. */
  async #linked(linking: Promise<void> | undefined): Promise<void> {
    await linking?.catch((error: unknown) => this.#options.logger.debug('failed to link a container log', { error: String(error) }))
  }

  async resizeContainer(containerId: string, pod: V1Pod, container: V1Container): Promise<void> {
    const { client, capacity, cgroups } = this.#options
    const id = bareId(containerId)
    const linux = containerResources(pod, container, capacity)
    await refuseBelowUsage(pod, [{ id, name: container.name, limitBytes: linux.memoryLimitInBytes ?? 0 }], this.#options)
    await cgroups?.widen(pod)
    await client.call('updateContainerResources', { containerId: id, linux })
    await cgroups?.ensure(pod)
    this.#observer.forgetContainer(id)
  }

  async resizePod(pod: V1Pod, containers: readonly { id: string; container: V1Container }[]): Promise<void> {
    const { client, capacity, cgroups } = this.#options
    const resized = containers.map(({ id, container }) => ({
      id: bareId(id),
      linux: containerResources(pod, container, capacity),
      container,
    }))
    const limits = resized.map(({ id, linux, container }) => ({ id, name: container.name, limitBytes: linux.memoryLimitInBytes ?? 0 }))
    await refuseBelowUsage(pod, limits, this.#options)
    await cgroups?.widen(pod)
    for (const { id, linux } of resized) {
      await client.call('updateContainerResources', { containerId: id, linux })
      this.#observer.forgetContainer(id)
    }
    await cgroups?.ensure(pod)
  }

  async placeContainer(containerId: string, { cpus, memoryNodes }: Placement): Promise<void> {
    const linux = omitEmpty({ cpusetCpus: cpus, cpusetMems: memoryNodes })
    await this.#options.client.call('updateContainerResources', { containerId: bareId(containerId), linux })
  }

  async exec(containerId: string, command: readonly string[], timeoutMs: number): Promise<ExecResult> {
    const request = { containerId: bareId(containerId), cmd: [...command], timeout: Math.ceil(timeoutMs / 1000) }
    try {
      const answer = await this.#options.client.call('execSync', request, { timeoutMs: timeoutMs + stopSlackMs })
      return { exitCode: answer.exitCode, stdout: Buffer.from(answer.stdout).toString(), stderr: Buffer.from(answer.stderr).toString() }
    } catch (error) {
      if (isTimeout(error)) throw new ExecTimeout(`command "${command.join(' ')}" timed out`)
      throw error
    }
  }

  async observe(podUid: string): Promise<ObservedPod> {
    try {
      return await this.#observer.observe(podUid)
    } catch (error) {
      if (error instanceof GrpcError && error.code === grpcCodes.unavailable) this.#unseen.add(podUid)
      throw error
    }
  }

  async podUids(): Promise<string[]> {
    const { client } = this.#options
    const { items } = await client.call('listPodSandbox', {})
    const { containers } = await client.call('listContainers', {})
    return [...new Set([...items, ...containers].flatMap(({ labels }) => labels[podLabel.uid] ?? []))]
  }

  async snapshot(): Promise<ReadonlyMap<string, string>> {
    const { client } = this.#options
    const { items } = await client.call('listPodSandbox', {})
    const { containers } = await client.call('listContainers', {})
    return podStates(items, containers)
  }

  lastObserved(podUid: string): string | undefined {
    return this.#observer.statesOf(podUid)
  }

  async setPodCidr(podCidr: string): Promise<void> {
    await this.#options.client.call('updateRuntimeConfig', { runtimeConfig: { networkConfig: { podCidr } } })
  }

  async health(): Promise<RuntimeHealth> {
    return healthOf(await this.#options.client.call('status', { verbose: false }))
  }

  onEvent(listener: (event: RuntimeEvent) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) }
  }

  #tell(podUid: string): void {
    for (const listener of this.#listeners) listener({ podUid })
  }

  #sandboxConfig(pod: V1Pod, plan: SandboxPlan, attempt: number, users: number | undefined): SandboxConfig {
    const userNamespace = users === undefined ? {} : { userNamespace: userNamespaceFrom(users) }
    const cgroupParent = this.#options.cgroups?.parentOf(pod) ?? ''
    const config = sandboxConfig(pod, plan, { attempt, cgroupParent, ...userNamespace })
    if (users !== undefined) config.annotations = { ...config.annotations, [userNamespaceAnnotation]: String(users) }
    return config
  }

  /** As it was when the sandbox was made, maybe by another process. */
  async #configOfSandbox(sandboxId: string, pod: V1Pod): Promise<SandboxConfig> {
    const known = this.#sandboxConfigs.get(sandboxId)
    if (known !== undefined) return known
    const { status } = await this.#options.client.call('podSandboxStatus', { podSandboxId: sandboxId })
    const annotations = status?.annotations ?? {}
    const users = annotations[userNamespaceAnnotation]
    const config = this.#sandboxConfig(
      pod,
      planIn(annotations) ?? emptySandboxPlan,
      status?.metadata?.attempt ?? 0,
      users === undefined ? undefined : Number(users),
    )
    this.#sandboxConfigs.set(sandboxId, config)
    return config
  }

  async #imageUser(image: string): Promise<ImageUser> {
    const known = this.#imageUsers.get(image)
    if (known !== undefined) return known
    const { image: found } = await this.#options.client.call('imageStatus', { image: { image } })
    if (found === undefined) throw new StartFailure('CreateContainerConfigError', `image ${image} not found`)
    // An image that names nobody is run as root.
    const user: ImageUser = found.username === '' ? { uid: found.uid?.value ?? 0, username: '' } : { username: found.username }
    // Only what is named by its content stays what it is.
    if (image.startsWith('sha256:')) this.#imageUsers.set(image, user)
    return user
  }

  async #namespacesOf(pod: V1Pod, container: V1Container | V1EphemeralContainer, sandbox: SandboxConfig): Promise<NamespaceOption> {
    const namespaces = namespacesOf(pod, userNamespaceIn(sandbox.annotations ?? {}))
    const target = 'targetContainerName' in container ? container.targetContainerName : undefined
    if (!target || namespaces.pid !== namespaceModes.container) return namespaces
    const filter = { labelSelector: { [podLabel.uid]: pod.metadata.uid ?? '' } }
    const { containers } = await this.#options.client.call('listContainers', { filter })
    const found = containers.find(({ labels, state }) => containerNameIn(labels) === target && state === containerStates.running)
    if (found === undefined) throw new StartFailure('CreateContainerConfigError', `unable to find target container ${target}`)
    return { ...namespaces, pid: namespaceModes.target, targetId: found.id }
  }

  async #claimUsers({ spec }: V1Pod, { runtimeHandler }: SandboxPlan): Promise<number | undefined> {
    if (spec.hostUsers !== false) return undefined
    const { client } = this.#options
    const { runtimeHandlers } = await client.call('status', { verbose: false })
    const handler = runtimeHandlers.find(({ name }) => name === runtimeHandler)
    if (!handler?.features?.userNamespaces) throw new Error(unsupportedUsers(runtimeHandler))
    const { items } = await client.call('listPodSandbox', {})
    const start = freeUserRange(items, this.#claimedUsers)
    this.#claimedUsers.add(start)
    return start
  }
}

function unsupportedUsers(runtimeHandler: string): string {
  const who = runtimeHandler === '' ? 'runtime' : `RuntimeClass handler "${runtimeHandler}"`
  return `can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`
}

/** Without the runtime's scheme. */
function bareId(containerId: string): string {
  return containerId.replace(/^[^/]*:\/\//, '')
}

function isTimeout(error: unknown): boolean {
  if (!(error instanceof GrpcError)) return false
  const { code, message } = error
  return code === grpcCodes.deadlineExceeded || isSaid(message, 'timeout ', ' exceeded') || isSaid(message, 'command ', ' timed out')
}

/** Whether the one stands before the other. */
function isSaid(message: string, one: string, other: string): boolean {
  const index = message.indexOf(one)
  return index >= 0 && message.includes(other, index + one.length)
}
