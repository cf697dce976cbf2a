/** Devices that plugins offer as extended resources: counted, given to containers, taken back. */
import { join } from 'node:path'
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import { podLimits } from '#api/core/v1/resources.ts'
import type { V1Container, V1ContainerStatus, V1Pod, V1ResourceStatus } from '#api/core/v1/types.gen.ts'
import { wholeValueOf } from '#api/meta/quantity.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { GrpcServer } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import { type Counter, exponentialBuckets, type Histogram, type Metrics } from '#base/metrics.ts'
import { chooseDevices } from '#kubelet/devices/choose-devices.ts'
import { DevicePlugin } from '#kubelet/devices/device-plugin.ts'
import { DevicePool } from '#kubelet/devices/device-pool.ts'
import { type DeviceRecord, DeviceRecords, type DevicesByNode, idsIn } from '#kubelet/devices/device-records.ts'
import { startRegistrationServer } from '#kubelet/devices/registration-server.ts'
import { runOptionsOf } from '#kubelet/devices/run-options.ts'
import type { ContainerExtras } from '#kubelet/runtimes/plans.ts'
import type { TopologyHint, TopologyHints } from '#kubelet/topology/topology-hint.ts'
import type { Affinities, HintProvider } from '#kubelet/topology/topology-manager.ts'

export type DeviceManagerOptions = {
  /** The agent's; plugins find their directory in it. */
  rootDirectory: string
  files: Files
  clock: Clock
  logger: Logger
  metrics: Metrics
  affinities: Affinities
  machineNodes: readonly number[]
  /** Whether the pod is still here and has not ended. */
  isActive(podUid: string): boolean
  /** What the node has, has changed. */
  onChange(): void
  /** Devices that the pod has are well or ill, and were not before. */
  onHealth(podUid: string): void
}

/** What the node tells of its devices. Resources that are gone are there with nothing. */
export type DeviceCapacity = { capacity: Record<string, string>; allocatable: Record<string, string> }

export class DeviceManager implements HintProvider, AsyncDisposable {
  readonly #options: DeviceManagerOptions
  readonly #records: DeviceRecords
  readonly #pools = new Map<string, DevicePool>()
  readonly #gone = new Set<string>()
  /** By resource: given to containers for which the plugin has not answered yet. */
  readonly #claimed = new Map<string, Set<string>>()
  readonly #reusable = new Map<string, Map<string, Set<string>>>()
  readonly #registrations: Counter
  readonly #duration: Histogram
  #server: GrpcServer | undefined
  #isStopped = false

  constructor(options: DeviceManagerOptions) {
    this.#options = options
    this.#records = new DeviceRecords(options.files, join(this.directory, 'kubelet_internal_checkpoint'))
    this.#registrations = options.metrics.counter(
      'kubelet_device_plugin_registration_total',
      'How often device plugins have registered, by resource.',
    )
    this.#duration = options.metrics.histogram(
      'kubelet_device_plugin_alloc_duration_seconds',
      'How long device plugins took to allocate, by resource.',
      exponentialBuckets(0.005, 2, 12),
    )
  }

  get directory(): string {
    return join(this.#options.rootDirectory, 'device-plugins')
  }

  /** Resolves when it is known what containers have from before. */
  async start(): Promise<void> {
    const { logger, clock } = this.#options
    const registered = await this.#records.load().catch((error: unknown) => {
      logger.error('failed to read the device manager checkpoint; devices of running containers may be given to others', {
        error: errorMessage(error),
      })
      return []
    })
    for (const resource of registered ?? []) this.#pools.set(resource, new DevicePool(clock.now()))
  }

  /** Resolves when plugins can register. */
  async serve(): Promise<void> {
    const { files } = this.#options
    this.#server = await startRegistrationServer({ directory: this.directory, files, register: this.register })
    if (this.#isStopped) await this.#server.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    for (const { plugin } of this.#pools.values()) plugin?.stop()
    await this.#server?.close()
    await this.#records.settled()
  }

  /** A plugin at the socket offers the resource; one of before is let go. */
  register = async (resource: string, socket: string): Promise<void> => {
    const { clock, logger } = this.#options
    this.#registrations.inc({ resource_name: resource })
    const plugin = await DevicePlugin.connect(resource, socket, clock)
    if (this.#isStopped) return plugin.stop()
    const pool = this.#pools.get(resource) ?? new DevicePool(clock.now())
    pool.plugin?.stop()
    pool.plugin = plugin
    this.#pools.set(resource, pool)
    this.#gone.delete(resource)
    logger.info('device plugin connected', { resource, socket })
    plugin.watch({
      onDevices: (devices) => {
        if (pool.plugin !== plugin) return
        const changed = pool.update(devices)
        for (const podUid of this.#records.podsWith(resource, changed)) this.#options.onHealth(podUid)
        this.#save()
        this.#options.onChange()
      },
      onGone: () => {
        if (pool.plugin !== plugin || this.#isStopped) return
        logger.warn('device plugin is gone', { resource, socket })
        pool.markUnhealthy()
        this.#options.onChange()
      },
    })
  }

  /** A plugin says good-bye. */
  deregister(resource: string): void {
    const pool = this.#pools.get(resource)
    pool?.plugin?.stop()
    pool?.markUnhealthy()
    this.#options.onChange()
  }

  get capacity(): DeviceCapacity {
    const capacity: Record<string, string> = {}
    const allocatable: Record<string, string> = {}
    const nowMs = this.#options.clock.now()
    for (const [resource, pool] of this.#pools) {
      if (pool.hasExpired(nowMs)) {
        this.#pools.delete(resource)
        this.#gone.add(resource)
        this.#save()
        continue
      }
      capacity[resource] = String(pool.healthy.size + pool.unhealthy.size)
      allocatable[resource] = String(pool.healthy.size)
    }
    for (const resource of this.#gone) [capacity[resource], allocatable[resource]] = ['0', '0']
    return { capacity, allocatable }
  }

  isServed(resource: string): boolean {
    return this.#pools.has(resource) || this.#records.has(resource)
  }

  hints(pod: V1Pod, container: V1Container): TopologyHints {
    const { uid = '' } = pod.metadata
    this.#forgetEnded()
    return this.#hintsFor(this.#wantedBy(container), (resource) => ({
      has: this.#records.idsOf(uid, container.name, resource) ?? new Set(),
      reusable: this.#reusable.get(uid)?.get(resource) ?? new Set(),
    }))
  }

  podHints(pod: V1Pod): TopologyHints {
    const { uid = '' } = pod.metadata
    this.#forgetEnded()
    const limits = Object.entries(podLimits(pod.spec)).filter(([resource]) => this.isServed(resource))
    const wanted = limits.map(([resource, amount]) => [resource, amount.value()] as const)
    return this.#hintsFor(wanted, (resource) => ({ has: this.#records.idsOfPod(uid, resource), reusable: new Set() }))
  }

  async allocate(pod: V1Pod, container: V1Container): Promise<void> {
    const { uid = '' } = pod.metadata
    for (const other of this.#reusable.keys()) if (other !== uid) this.#reusable.delete(other)
    const reusable = this.#reusable.get(uid) ?? new Map<string, Set<string>>()
    this.#reusable.set(uid, reusable)
    let isChanged = false
    for (const [resource, count] of this.#wantedBy(container, pod)) {
      this.#forgetEnded()
      isChanged = (await this.#allocateOne(pod, container, resource, count, reusable.get(resource) ?? new Set())) || isChanged
      const ids = this.#records.idsOf(uid, container.name, resource) ?? new Set<string>()
      const before = reusable.get(resource) ?? new Set<string>()
      const isPassing = pod.spec.initContainers?.some((init) => init.name === container.name && !isSidecar(init)) ?? false
      reusable.set(resource, isPassing ? before.union(ids) : before.difference(ids))
    }
    if (isChanged) await this.#records.save(this.#healthy())
  }

  /** What the container is to be started with; its plugins are told that it is. */
  async runOptions(pod: V1Pod, container: V1Container): Promise<ContainerExtras | undefined> {
    const { uid = '' } = pod.metadata
    const wanted = this.#wantedBy(container, pod)
    if (wanted.length === 0) return undefined
    for (const [resource] of wanted) {
      if (this.#records.idsOf(uid, container.name, resource) === undefined) await this.allocate(pod, container)
      await this.#preStart(uid, container.name, resource)
    }
    return runOptionsOf(this.#records.ofContainer(uid, container.name), this.#options.logger)
  }

  devicesOf(podUid: string, container: string): Pick<DeviceRecord, 'resource' | 'devices'>[] {
    return this.#records.ofContainer(podUid, container)
  }

  /** All that are well, by resource. */
  get allocatable(): { resource: string; devices: DevicesByNode }[] {
    return [...this.#pools].map(([resource, pool]) => ({ resource, devices: pool.byNode(pool.healthy) }))
  }

  /** How the devices of a container are, for its status. */
  healthOf(podUid: string, { name }: Pick<V1ContainerStatus, 'name'>): V1ResourceStatus[] {
    return this.#records.ofContainer(podUid, name).map(({ resource, devices }) => ({
      name: resource,
      resources: [...idsIn(devices)].map((resourceID) => {
        const health = this.#pools.get(resource)?.devices.get(resourceID)?.health ?? 'Healthy'
        return { resourceID, health: health === 'Healthy' ? 'Healthy' : 'Unhealthy' }
      }),
    }))
  }

  forget(podUid: string): void {
    this.#reusable.delete(podUid)
    if (this.#records.keepOnly((uid) => uid !== podUid)) this.#save()
  }

  /** Containers have devices by their limits. Those that claims stand for are none of ours. */
  #wantedBy({ name, resources }: V1Container, pod?: V1Pod): (readonly [string, number])[] {
    const claimed = pod?.status?.extendedResourceClaimStatus?.requestMappings ?? []
    const isClaimed = (resource: string) => claimed.some((each) => each.containerName === name && each.resourceName === resource)
    return Object.entries(resources?.limits ?? {}).flatMap(([resource, amount]) => {
      const count = wholeValueOf(amount)
      return count > 0 && this.isServed(resource) && !isClaimed(resource) ? [[resource, count] as const] : []
    })
  }

  #hintsFor(
    wanted: Iterable<readonly [string, number]>,
    held: (resource: string) => { has: ReadonlySet<string>; reusable: ReadonlySet<string> },
  ): TopologyHints {
    const hints: Record<string, readonly TopologyHint[] | undefined> = {}
    for (const [resource, count] of wanted) {
      const pool = this.#pools.get(resource)
      if (pool === undefined || !pool.hasTopology) {
        hints[resource] = undefined
        continue
      }
      const { has, reusable } = held(resource)
      const { machineNodes } = this.#options
      if (has.size > 0) {
        hints[resource] = has.size === count ? pool.hints(machineNodes, has, new Set(), count) : []
        continue
      }
      const available = pool.healthy.difference(this.#inUse(resource))
      hints[resource] = available.union(reusable).size < count ? [] : pool.hints(machineNodes, available, reusable, count)
    }
    return hints
  }

  async #allocateOne(pod: V1Pod, { name }: V1Container, resource: string, count: number, reusable: ReadonlySet<string>): Promise<boolean> {
    const { uid = '' } = pod.metadata
    const { affinities } = this.#options
    const present = this.#records.idsOf(uid, name, resource)
    if (present !== undefined && present.size !== count) {
      throw new Error(`pod "${uid}" container "${name}" changed request for resource "${resource}" from ${present.size} to ${count}`)
    }
    const pool = this.#pools.get(resource)
    if (pool === undefined) throw new Error(`cannot allocate unregistered device ${resource}`)
    if (pool.healthy.size === 0) throw new Error(`no healthy devices present; cannot allocate unhealthy devices ${resource}`)
    if (present !== undefined && !present.isSubsetOf(pool.healthy)) {
      throw new Error(`previously allocated devices are no longer healthy; cannot allocate unhealthy devices ${resource}`)
    }
    if (present !== undefined) return false
    const { affinity } = affinities.affinityOf(uid, name)
    const chosen = await chooseDevices({ resource, count, pool, reusable, affinity, inUse: this.#inUse(resource) })
    const claimed = this.#claimed.get(resource) ?? new Set<string>()
    this.#claimed.set(resource, claimed.union(chosen))
    try {
      const { plugin } = pool
      if (plugin === undefined) throw new Error(`endpoint ${resource} has been stopped`)
      const startedMs = this.#options.clock.now()
      const allocation = await plugin.allocate([...chosen])
      this.#duration.observe((this.#options.clock.now() - startedMs) / 1000, { resource_name: resource })
      this.#records.add({ podUid: uid, container: name, resource, devices: pool.byNode(chosen), allocation })
    } finally {
      this.#claimed.set(resource, (this.#claimed.get(resource) ?? new Set<string>()).difference(chosen))
    }
    return true
  }

  async #preStart(podUid: string, container: string, resource: string): Promise<void> {
    const plugin = this.#pools.get(resource)?.plugin
    if (plugin === undefined || !plugin.options.preStartRequired) return
    const ids = this.#records.idsOf(podUid, container, resource)
    if (ids === undefined) {
      throw new Error(`no devices found allocated in local cache for pod ${podUid}, container ${container}, resource ${resource}`)
    }
    await plugin.preStart([...ids]).catch((error: unknown): never => {
      throw new Error(`device plugin PreStartContainer rpc failed with err: ${errorMessage(error)}`)
    })
  }

  #inUse(resource: string): Set<string> {
    return this.#records.idsInUse(resource).union(this.#claimed.get(resource) ?? new Set())
  }

  #forgetEnded(): void {
    if (this.#records.keepOnly((uid) => this.#options.isActive(uid))) this.#save()
  }

  #healthy(): ReadonlyMap<string, ReadonlySet<string>> {
    return new Map([...this.#pools].map(([resource, { healthy }]) => [resource, healthy]))
  }

  #save(): void {
    this.#records.save(this.#healthy()).catch((error: unknown) => {
      this.#options.logger.error('failed to write the device manager checkpoint', { error: errorMessage(error) })
    })
  }
}
