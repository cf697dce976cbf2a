/** What this machine's kernel tells of the node and its pods, and the runtime of its disks. */

import { join } from 'node:path'
import type { V1ContainerStatus, V1Pod } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import type { Host } from '#base/host.ts'
import type { KernelFiles } from '#base/kernel-files.ts'
import type { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import { type CgroupRoots, cgroupUsage } from '#kubelet/stats/cgroup-usage.ts'
import { directoryUsage } from '#kubelet/stats/directory-usage.ts'
import { bootTimeMs, defaultInterface, interfacesOf, machineUsage, processCounts } from '#kubelet/stats/proc-usage.ts'
import type {
  ContainerUsage,
  DiskUsage,
  FileSystemUsage,
  InterfaceUsage,
  NodeUsage,
  PodUsage,
  UsageSource,
  VolumeUsage,
} from '#kubelet/stats/usage.ts'

export type MachineUsageOptions = {
  cgroups: CgroupRoots
  podCgroups: Pick<PodCgroups, 'directoryOf' | 'directoryOfAll'>
  kernel: KernelFiles
  files: Files
  host: Pick<Host, 'fileSystem'>
  clock: Clock
  pods(): readonly V1Pod[]
  /** Where pods have their files. */
  rootDirectory: string
  /** The directory of a pod's logs. */
  logDirectoryOf(pod: V1Pod): string
  /** Where the runtime keeps images; undefined where it does not say. */
  imageDirectory(): Promise<string | undefined>
  /** By id without scheme, what containers have written into their root file systems. */
  writableLayers(): Promise<ReadonlyMap<string, DiskUsage>>
  /** Where the volume of a pod is; undefined for one that takes up nothing of its own. */
  volumeDirectory(pod: V1Pod, volume: string): string | undefined
}

/** Disks are measured this seldom: somebody has to walk through them. */
const diskAgeMs = 60_000

export class MachineUsageSource implements UsageSource {
  readonly #options: MachineUsageOptions
  readonly #startedMs: number
  readonly #disks = new Map<string, { atMs: number; usage: DiskUsage }>()

  constructor(options: MachineUsageOptions) {
    this.#options = options
    this.#startedMs = options.clock.now()
  }

  async collect({ everything }: { everything: boolean }): Promise<NodeUsage> {
    const { kernel, clock, pods, podCgroups } = this.#options
    const layers = everything
      ? await this.#options.writableLayers().catch(() => new Map<string, DiskUsage>())
      : new Map<string, DiskUsage>()
    const found: PodUsage[] = []
    for (const pod of pods()) {
      const usage = this.#podUsage(pod, everything)
      if (usage === undefined) continue
      found.push(usage)
      if (everything) await this.#measureDisks(pod, usage, layers)
    }
    if (everything) this.#forgetDisks()
    const nowMs = clock.now()
    const all = cgroupUsage(podCgroups.directoryOfAll(), this.#options.cgroups, kernel, nowMs)
    const interfaces = everything ? interfacesOf(kernel, 'self') : []
    const chosen = everything ? defaultInterface(kernel, 'self') : undefined
    const processes = processCounts(kernel)
    return {
      whole: machineUsage(kernel, nowMs),
      startedMs: bootTimeMs(kernel),
      systemContainers: all === undefined ? [] : [{ ...all, name: 'pods', startedMs: this.#startedMs }],
      interfaces,
      ...defined({ defaultInterface: chosen }),
      ...(everything ? await this.#fileSystems() : {}),
      ...defined({ processes }),
      pods: found,
    }
  }

  #podUsage(pod: V1Pod, everything: boolean): PodUsage | undefined {
    const { cgroups, podCgroups, kernel, clock } = this.#options
    const { name = '', namespace = '', uid = '' } = pod.metadata
    const cgroup = podCgroups.directoryOf(pod)
    const whole = cgroupUsage(cgroup, cgroups, kernel, clock.now())
    if (whole === undefined) return undefined
    const groups = kernel.list(`${cgroups.roots.get('memory')}/${cgroup}`)
    const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])]
    const containers = statuses.flatMap((status) => this.#containerUsage(status, cgroup, groups) ?? [])
    const interfaces = everything && !pod.spec.hostNetwork ? this.#interfaces(containers) : undefined
    return {
      ...{ name, namespace, uid, cgroup, whole, containers, startedMs: msOf(pod.status?.startTime) },
      ...defined({ interfaces }),
    }
  }

  #containerUsage(
    { name, image, containerID = '', state }: V1ContainerStatus,
    podGroup: string,
    groups: readonly string[],
  ): ContainerUsage | undefined {
    const { cgroups, kernel, clock } = this.#options
    const id = containerID.slice(containerID.indexOf('://') + 3)
    if (containerID === '' || state?.running === undefined) return undefined
    // By its id alone, or `cri-containerd-ID.scope`.
    const group = groups.find((each) => each.includes(id))
    const usage = group === undefined ? undefined : cgroupUsage(`${podGroup}/${group}`, cgroups, kernel, clock.now())
    return usage && { ...usage, name, id, image, startedMs: msOf(state.running?.startedAt), cgroup: `${podGroup}/${group}` }
  }

  /** All containers of a pod see the same ones. */
  #interfaces(containers: readonly ContainerUsage[]): InterfaceUsage[] | undefined {
    const { cgroups, kernel } = this.#options
    for (const { cgroup } of containers) {
      const process = kernel.read(`${cgroups.roots.get('memory')}/${cgroup}/cgroup.procs`)?.split('\n', 1)[0]
      if (process) return interfacesOf(kernel, process)
    }
    return undefined
  }

  async #measureDisks(pod: V1Pod, usage: PodUsage, layers: ReadonlyMap<string, DiskUsage>): Promise<void> {
    const logs = this.#options.logDirectoryOf(pod)
    for (const container of usage.containers) {
      const layer = layers.get(container.id)
      if (layer !== undefined) container.rootFs = layer
      container.logs = await this.#diskUsage(join(logs, container.name))
    }
    usage.volumes = []
    for (const volume of pod.spec.volumes ?? []) usage.volumes.push(...(await this.#volumeUsage(pod, volume)))
  }

  async #volumeUsage(pod: V1Pod, { name, persistentVolumeClaim }: NonNullable<V1Pod['spec']['volumes']>[number]): Promise<VolumeUsage[]> {
    const directory = this.#options.volumeDirectory(pod, name)
    if (directory === undefined || (await this.#options.files.stat(directory)) === undefined) return []
    const { usedBytes, inodesUsed } = await this.#diskUsage(directory)
    const usage = { ...(await this.#fileSystem(directory)), usedBytes, inodesUsed }
    const claim = persistentVolumeClaim && { name: persistentVolumeClaim.claimName, namespace: pod.metadata.namespace ?? '' }
    return [{ name, usage, ...defined({ claim }) }]
  }

  async #diskUsage(directory: string): Promise<DiskUsage> {
    const nowMs = this.#options.clock.now()
    const known = this.#disks.get(directory)
    if (known !== undefined && nowMs - known.atMs < diskAgeMs) return known.usage
    const usage = await directoryUsage(this.#options.files, directory)
    this.#disks.set(directory, { atMs: nowMs, usage })
    return usage
  }

  #forgetDisks(): void {
    const nowMs = this.#options.clock.now()
    for (const [directory, { atMs }] of this.#disks) if (nowMs - atMs > 2 * diskAgeMs) this.#disks.delete(directory)
  }

  async #fileSystems(): Promise<Pick<NodeUsage, 'fs' | 'imageFs'>> {
    const fs = await this.#fileSystem(this.#options.rootDirectory)
    const directory = await this.#options.imageDirectory().catch(() => undefined)
    const imageFs = directory === undefined ? undefined : await this.#fileSystem(directory).catch(() => undefined)
    return { fs, imageFs: imageFs ?? fs }
  }

  async #fileSystem(path: string): Promise<FileSystemUsage> {
    return { timeMs: this.#options.clock.now(), ...(await this.#options.host.fileSystem(path)) }
  }
}

const msOf = (time: string | null | undefined): number => (time ? parseTime(time) : 0)
