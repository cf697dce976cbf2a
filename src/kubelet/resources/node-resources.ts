/** What the node has for containers beyond what they share: whole processors, memory near them, devices. */
import type { V1Container, V1Pod, V1ResourceStatus } from '#api/core/v1/types.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { parseDurationMs } from '#base/duration.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import type { CpuManager } from '#kubelet/cpu-manager/cpu-manager.ts'
import { type DeviceCapacity, DeviceManager } from '#kubelet/devices/device-manager.ts'
import type { MemoryManager } from '#kubelet/memory-manager/memory-manager.ts'
import type { Waiting } from '#kubelet/pod-worker/pod-steps.ts'
import { openCpuManager, openMemoryManager, topologyPolicyOf } from '#kubelet/resources/open-managers.ts'
import type { ContainerExtras, Placement } from '#kubelet/runtimes/plans.ts'
import { AdmissionError } from '#kubelet/topology/admission-error.ts'
import { formatCpuSet } from '#kubelet/topology/cpu-set.ts'
import type { MachineTopology } from '#kubelet/topology/machine-topology.ts'
import { TopologyManager } from '#kubelet/topology/topology-manager.ts'

export type NodeResourcesOptions = {
  configuration: KubeletConfiguration
  /** The agent's. */
  rootDirectory: string
  files: Files
  clock: Clock
  logger: Logger
  metrics: Metrics
  topology: MachineTopology
  /** Pods that have not ended. */
  activePods(): readonly V1Pod[]
  /** What the node has, has changed. */
  onChange(): void
  /** Something that the pod has is well or ill, and was not before. */
  onHealth(podUid: string): void
  /** Moves a running container. */
  place(containerId: string, placement: Placement): Promise<void>
}

export class NodeResources implements AsyncDisposable {
  readonly devices: DeviceManager
  readonly cpus: CpuManager | undefined
  readonly memory: MemoryManager | undefined
  readonly #options: NodeResourcesOptions
  readonly #topology: TopologyManager
  /** By container: the processors it was told of last. */
  readonly #appliedCpus = new Map<string, string>()
  /** Admitted by us, and not known to the agent yet. */
  readonly #admitting = new Set<string>()
  #last: Promise<unknown> = Promise.resolve()
  #timer: Timer | undefined

  private constructor(
    options: NodeResourcesOptions,
    parts: { topology: TopologyManager; cpus: CpuManager | undefined; memory: MemoryManager | undefined },
  ) {
    this.#options = options
    this.#topology = parts.topology
    this.cpus = parts.cpus
    this.memory = parts.memory
    const { rootDirectory, files, clock, logger, metrics, topology, activePods, onChange, onHealth } = options
    this.devices = new DeviceManager({
      ...{ rootDirectory, files, clock, logger, metrics, affinities: this.#topology, onChange, onHealth },
      machineNodes: topology.nodes.map(({ id }) => id),
      isActive: (uid) => this.#admitting.has(uid) || activePods().some(({ metadata }) => metadata.uid === uid),
    })
    if (this.cpus !== undefined) this.#topology.add(this.cpus)
    if (this.memory !== undefined) this.#topology.add(this.memory)
    this.#topology.add(this.devices)
  }

  /** Rejects where the configuration does not fit the machine, or the state that was left. */
  static async open(options: NodeResourcesOptions): Promise<NodeResources> {
    const { configuration, clock } = options
    const policy = topologyPolicyOf(configuration, options.topology)
    const topology = new TopologyManager({
      policy,
      scope: configuration.topologyManagerScope as 'container' | 'pod',
      metrics: options.metrics,
    })
    const parts = { ...options, affinities: topology }
    const cpus = await openCpuManager(parts)
    const memory = await openMemoryManager(parts)
    const resources = new NodeResources(options, { topology, cpus, memory })
    await resources.devices.start()
    if (cpus !== undefined) {
      resources.#timer = clock.every(parseDurationMs(configuration.cpuManagerReconcilePeriod), () => void resources.#reconcile())
    }
    return resources
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.cancel()
    await this.devices[Symbol.asyncDispose]()
  }

  get capacity(): DeviceCapacity {
    return this.devices.capacity
  }

  /** Whether the pod may ask for anything of what is handed out here; all others can be let in at once. */
  concerns(pod: V1Pod): boolean {
    if (this.cpus !== undefined || this.memory !== undefined) return true
    const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers]
    return all.some(({ resources }) => Object.keys(resources?.limits ?? {}).some((name) => this.devices.isServed(name)))
  }

  /** Gives the pod's containers what they ask for; resolves with why it cannot. One pod at a time. */
  admit(pod: V1Pod): Promise<Waiting | undefined> {
    const { uid = '' } = pod.metadata
    const admitted = this.#last.then(async (): Promise<Waiting | undefined> => {
      this.#admitting.add(uid)
      try {
        await this.#topology.admit(pod)
        if (this.cpus !== undefined) void this.#reconcile()
        return undefined
      } catch (error) {
        await this.release(uid)
        if (error instanceof AdmissionError) return { reason: error.reason, message: error.message }
        const message = `Allocate failed due to ${errorMessage(error)}, which is unexpected`
        return { reason: 'UnexpectedAdmissionError', message }
      }
    })
    this.#last = admitted.catch(() => {})
    return admitted
  }

  /** The agent knows the pod now, or never will. */
  settled(podUid: string): void {
    this.#admitting.delete(podUid)
  }

  /** The pod has ended. */
  async release(podUid: string): Promise<void> {
    const { logger } = this.#options
    this.#admitting.delete(podUid)
    this.#topology.forget(podUid)
    this.devices.forget(podUid)
    try {
      await this.memory?.forget(podUid)
      if (await this.cpus?.forget(podUid)) void this.#reconcile()
    } catch (error) {
      logger.error('failed to write down that resources of a pod are free', { podUid, error: errorMessage(error) })
    }
  }

  /** What a container is to be started with. */
  async forContainer(
    pod: V1Pod,
    container: V1Container,
  ): Promise<{ extras: ContainerExtras | undefined; placement: Placement | undefined }> {
    return { extras: await this.devices.runOptions(pod, container), placement: this.#placementOf(pod, container.name) }
  }

  hasExclusiveCpus({ metadata, spec }: V1Pod): boolean {
    const { uid = '' } = metadata
    return this.cpus !== undefined && spec.containers.some(({ name }) => this.cpus?.exclusiveCpusOf(uid, name) !== undefined)
  }

  healthOf(podUid: string, container: string): V1ResourceStatus[] {
    return this.devices.healthOf(podUid, { name: container })
  }

  #placementOf({ metadata }: V1Pod, container: string): Placement | undefined {
    const { uid = '' } = metadata
    const cpus = this.cpus === undefined ? '' : formatCpuSet(this.cpus.cpusOf(uid, container))
    const memoryNodes = (this.memory?.nodesOf(uid, container) ?? []).join(',')
    if (cpus === '' && memoryNodes === '') return undefined
    return { cpus, memoryNodes, isExclusive: this.cpus?.exclusiveCpusOf(uid, container) !== undefined }
  }

  /** Those that share processors leave those that have become somebody's own, and come back when they are free. */
  async #reconcile(): Promise<void> {
    const { activePods, place, logger } = this.#options
    const alive = new Set<string>()
    const active = activePods()
    const uids = new Set(active.map(({ metadata }) => metadata.uid ?? ''))
    for (const pod of active) {
      for (const { name, containerID = '', state } of [
        ...(pod.status?.initContainerStatuses ?? []),
        ...(pod.status?.containerStatuses ?? []),
      ]) {
        if (!state?.running || containerID === '') continue
        alive.add(containerID)
        const placement = this.#placementOf(pod, name)
        if (placement === undefined || this.#appliedCpus.get(containerID) === placement.cpus) continue
        try {
          await place(containerID, { ...placement, memoryNodes: '' })
          this.#appliedCpus.set(containerID, placement.cpus)
        } catch (error) {
          logger.warn('failed to move container to its CPUs', { containerID, cpus: placement.cpus, error: errorMessage(error) })
        }
      }
    }
    for (const containerId of this.#appliedCpus.keys()) if (!alive.has(containerId)) this.#appliedCpus.delete(containerId)
    for (const uid of this.#heldBy()) if (!uids.has(uid) && !this.#admitting.has(uid)) await this.release(uid)
  }

  #heldBy(): string[] {
    return [...(this.cpus?.podUids ?? []), ...(this.memory?.podUids ?? [])]
  }
}
