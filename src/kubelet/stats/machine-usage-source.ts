/** What this machine's kernel tells of the node and its pods, and the runtime of its disks. */

import { join } from 'node:path'
import type { V1ContainerStatus, V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import type { Host } from '#base/host.ts'
import { keptAnswer } from '#base/kept-answer.ts'
import type { KeptFile, KeptFiles } from '#base/kept-kernel-files.ts'
import type { KernelFiles } from '#base/kernel-files.ts'
import type { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import { type CgroupMeter, type CgroupRoots, cgroupMeter, type MeterOptions } from '#kubelet/stats/cgroup-usage.ts'
import { sumOfUsages } from '#kubelet/stats/cri-usages.ts'
import { defaultInterface, interfacesOf, machineUsage, processCounts } from '#kubelet/stats/proc-usage.ts'
import type {
  CollectOptions,
  ContainerUsage,
  Detail,
  DiskUsage,
  FileSystemUsage,
  GroupUsage,
  InterfaceUsage,
  NodeUsage,
  PodUsage,
  UsageSource,
  VolumeUsage,
} from '#kubelet/stats/usage.ts'

export type MachineUsageOptions = {
  /** Where the node has them. */
  groups: { cgroups: CgroupRoots; podCgroups: Pick<PodCgroups, 'directoryOf' | 'directoryOfAll'> } | undefined
  /** By id without scheme, what containers use by the runtime's count; asked only where there are no cgroups. */
  containerUsages(): Promise<ReadonlyMap<string, GroupUsage>>
  kernel: KernelFiles
  /** For the files of cgroups, which are many. */
  kept: KeptFiles
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
  /** Where a volume of a pod that begins empty is. */
  emptyDirectoryOf(pod: V1Pod, volume: string): string
}

type Groups = NonNullable<MachineUsageOptions['groups']>

/** Those of a pod's group and its containers' groups; what is there was found once and does not change. */
type PodMeters = { cgroup: string; whole: CgroupMeter; containers: Map<string, ContainerMeter> }
type ContainerMeter = { cgroup: string; meter: CgroupMeter; processes: KeptFile }

const noLayers: ReadonlyMap<string, DiskUsage> = new Map()
const noUsages: ReadonlyMap<string, GroupUsage> = new Map()
/** Disks are measured this seldom: somebody has to walk through them. */
const diskAgeMs = 60_000
/** Runtimes measure layers no more often than this. */
const layersAgeMs = 10_000

export class MachineUsageSource implements UsageSource {
  readonly #options: MachineUsageOptions
  readonly #startedMs: number
  readonly #disks = new Map<string, { atMs: number; usage: DiskUsage }>()
  /** By the uid of pods. */
  readonly #meters = new Map<string, PodMeters>()
  readonly #layers: () => Promise<ReadonlyMap<string, DiskUsage>>
  #meterOfAll: { cgroup: string; meter: CgroupMeter } | undefined

  constructor(options: MachineUsageOptions) {
    this.#options = options
    this.#startedMs = options.clock.now()
    this.#layers = keptAnswer(options.clock, layersAgeMs, () => options.writableLayers())
  }

  async collect({ detail }: CollectOptions): Promise<NodeUsage> {
    const everything = detail !== 'amounts'
    const { kernel, clock, pods, groups } = this.#options
    // Figures without those of layers, until the runtime answers again.
    const layers = everything ? await this.#layers().catch(() => noLayers) : noLayers
    const counted = groups === undefined ? await this.#options.containerUsages().catch(() => noUsages) : noUsages
    const found: PodUsage[] = []
    for (const pod of pods()) {
      const usage = groups === undefined ? this.#countedUsage(pod, counted) : this.#podUsage(pod, groups, detail)
      if (usage === undefined) continue
      found.push(usage)
      if (everything) await this.#measureDisks(pod, usage, layers)
    }
    if (everything) this.#forgetDisks()
    this.#forgetMeters(found)
    const nowMs = clock.now()
    const all = groups && this.#usageOfAll(groups, nowMs, detail)
    const { startedMs, ...whole } = machineUsage(kernel, nowMs)
    const interfaces = everything ? (interfacesOf(kernel, 'self') ?? []) : []
    const chosen = everything ? defaultInterface(kernel, 'self') : undefined
    const processes = processCounts(kernel)
    return {
      ...{ whole, startedMs },
      systemContainers: all === undefined ? [] : [{ ...all, name: 'pods', startedMs: this.#startedMs }],
      interfaces,
      ...defined({ defaultInterface: chosen }),
      ...(everything ? await this.#fileSystems() : {}),
      ...defined({ processes }),
      pods: found,
    }
  }

  #countedUsage(pod: V1Pod, counted: ReadonlyMap<string, GroupUsage>): PodUsage | undefined {
    const { name = '', namespace = '', uid = '' } = pod.metadata
    const containers = statusesOf(pod).flatMap(({ name, image, containerID = '', state }): ContainerUsage[] => {
      const id = idIn(containerID)
      const usage = counted.get(id)
      if (usage === undefined || state?.running === undefined) return []
      return [{ ...usage, name, id, image, startedMs: msOf(state.running.startedAt), cgroup: '' }]
    })
    if (containers.length === 0) return undefined
    const whole = sumOfUsages(containers, this.#options.clock.now())
    return { name, namespace, uid, cgroup: '', whole, containers, startedMs: msOf(pod.status?.startTime) }
  }

  #podUsage(pod: V1Pod, groups: Groups, detail: Detail): PodUsage | undefined {
    const { clock } = this.#options
    const { name = '', namespace = '', uid = '' } = pod.metadata
    const cgroup = groups.podCgroups.directoryOf(pod)
    const meters = this.#metersOf(uid, cgroup, groups.cgroups)
    const mayThrottle = hasCpuLimit(pod)
    const whole = meters.whole.usage(clock.now(), { detail, countsProcesses: true, mayThrottle })
    if (whole === undefined) return undefined
    const containers: ContainerUsage[] = []
    // Of a container only cAdvisor tells how many processes it has.
    const options = { detail, countsProcesses: detail === 'all', mayThrottle }
    for (const status of statusesOf(pod)) {
      const usage = this.#containerUsage(status, groups.cgroups, meters, options)
      if (usage !== undefined) containers.push(usage)
    }
    const usage: PodUsage = { name, namespace, uid, cgroup, whole, containers, startedMs: msOf(pod.status?.startTime) }
    const interfaces = detail !== 'amounts' && !pod.spec.hostNetwork ? this.#interfaces(containers, meters, groups.cgroups) : undefined
    if (interfaces !== undefined) usage.interfaces = interfaces
    return usage
  }

  #metersOf(uid: string, cgroup: string, cgroups: CgroupRoots): PodMeters {
    const known = this.#meters.get(uid)
    if (known?.cgroup === cgroup) return known
    const meters = { cgroup, whole: cgroupMeter(cgroup, cgroups, this.#options.kept), containers: new Map() }
    this.#meters.set(uid, meters)
    return meters
  }

  #usageOfAll({ podCgroups, cgroups }: Groups, nowMs: number, detail: Detail): GroupUsage | undefined {
    const cgroup = podCgroups.directoryOfAll()
    if (this.#meterOfAll?.cgroup !== cgroup) this.#meterOfAll = { cgroup, meter: cgroupMeter(cgroup, cgroups, this.#options.kept) }
    return this.#meterOfAll.meter.usage(nowMs, { detail, countsProcesses: true, mayThrottle: true })
  }

  #forgetMeters(found: readonly PodUsage[]): void {
    const uids = new Set(found.map(({ uid }) => uid))
    for (const uid of this.#meters.keys()) if (!uids.has(uid)) this.#meters.delete(uid)
    for (const { uid, containers } of found) {
      const known = this.#meters.get(uid)?.containers
      if (known === undefined || known.size === containers.length) continue
      const ids = new Set(containers.map(({ id }) => id))
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
    }
  }

  #containerUsage(
    { name, image, containerID = '', state }: V1ContainerStatus,
    cgroups: CgroupRoots,
    pod: PodMeters,
    options: MeterOptions,
  ): ContainerUsage | undefined {
    const id = idIn(containerID)
    if (containerID === '' || state?.running === undefined) return undefined
    const found = pod.containers.get(id) ?? this.#findContainer(id, cgroups, pod)
    const usage = found?.meter.usage(this.#options.clock.now(), options)
    if (found === undefined || usage === undefined) return undefined
    return Object.assign(usage, { name, id, image, startedMs: msOf(state.running.startedAt), cgroup: found.cgroup })
  }

  #findContainer(id: string, cgroups: CgroupRoots, pod: PodMeters): ContainerMeter | undefined {
    const { kernel, kept } = this.#options
    // By its id alone, or `cri-containerd-ID.scope`.
    const directory = `${cgroups.roots.get('memory')}/${pod.cgroup}`
    const group = kernel.list(directory).find((each) => each.includes(id))
    if (group === undefined) return undefined
    const cgroup = `${pod.cgroup}/${group}`
    const found = { cgroup, meter: cgroupMeter(cgroup, cgroups, kept), processes: kept.file(`${directory}/${group}/cgroup.procs`) }
    pod.containers.set(id, found)
    return found
  }

  /** All containers of a pod see the same ones. */
  #interfaces(containers: readonly ContainerUsage[], pod: PodMeters, cgroups: CgroupRoots): InterfaceUsage[] | undefined {
    const { kernel } = this.#options
    for (const { id, cgroup } of containers) {
      const known = firstProcess(pod.containers.get(id)?.processes.text())
      const found = known && interfacesOf(kernel, known)
      if (found) return found
      // For a second after a look the kernel shows an open list of processes as it was.
      const process = firstProcess(kernel.read(`${cgroups.roots.get('memory')}/${cgroup}/cgroup.procs`))
      if (process) return interfacesOf(kernel, process) ?? []
    }
    return undefined
  }

  async #measureDisks(pod: V1Pod, usage: PodUsage, layers: ReadonlyMap<string, DiskUsage>): Promise<void> {
    const logs = this.#options.logDirectoryOf(pod)
    for (const container of usage.containers) {
      const layer = layers.get(container.id)
      if (layer !== undefined) container.rootFs = layer
      const directory = join(logs, container.name)
      container.logs = this.#knownDiskUsage(directory) ?? (await this.#diskUsage(directory))
    }
    usage.volumes = []
    for (const volume of pod.spec.volumes ?? []) usage.volumes.push(...(await this.#volumeUsage(pod, volume)))
  }

  /** Of those that take up room of the node's own. */
  async #volumeUsage(pod: V1Pod, { name, emptyDir }: V1Volume): Promise<VolumeUsage[]> {
    if (emptyDir === undefined) return []
    const directory = this.#options.emptyDirectoryOf(pod, name)
    if ((await this.#options.files.stat(directory)) === undefined) return []
    const { usedBytes, inodesUsed } = this.#knownDiskUsage(directory) ?? (await this.#diskUsage(directory))
    const usage = { ...(await this.#fileSystem(directory)), usedBytes, inodesUsed }
    return [{ name, usage }]
  }

  #knownDiskUsage(directory: string): DiskUsage | undefined {
    const known = this.#disks.get(directory)
    return known !== undefined && this.#options.clock.now() - known.atMs < diskAgeMs ? known.usage : undefined
  }

  async #diskUsage(directory: string): Promise<DiskUsage> {
    const nowMs = this.#options.clock.now()
    const usage = await this.#options.files.usage(directory)
    this.#disks.set(directory, { atMs: nowMs, usage })
    return usage
  }

  #forgetDisks(): void {
    const nowMs = this.#options.clock.now()
    for (const [directory, { atMs }] of this.#disks) if (nowMs - atMs > 2 * diskAgeMs) this.#disks.delete(directory)
  }

  async #fileSystems(): Promise<Pick<NodeUsage, 'fs' | 'imageFs'>> {
    const fs = await this.#fileSystem(this.#options.rootDirectory)
    // Where the runtime does not say where images are, they are taken to be beside the rest.
    const directory = await this.#options.imageDirectory().catch(() => undefined)
    const imageFs = directory === undefined ? undefined : await this.#fileSystem(directory).catch(() => undefined)
    return { fs, imageFs: imageFs ?? fs }
  }

  async #fileSystem(path: string): Promise<FileSystemUsage> {
    return { timeMs: this.#options.clock.now(), ...(await this.#options.host.fileSystem(path)) }
  }
}

function statusesOf({ status }: V1Pod): readonly V1ContainerStatus[] {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {}
  return initContainerStatuses.length === 0 ? containerStatuses : [...initContainerStatuses, ...containerStatuses]
}
/** Of the pod, or of some container: each that has one has a quota, and so may the pod. */
function hasCpuLimit({ spec }: V1Pod): boolean {
  const limited = ({ resources }: Pick<V1Pod['spec'], 'resources'>) => resources?.limits?.['cpu'] !== undefined
  return limited(spec) || spec.containers.some(limited) || (spec.initContainers ?? []).some(limited)
}
function firstProcess(list: string | undefined): string | undefined {
  if (list === undefined) return undefined
  const end = list.indexOf('\n')
  return (end < 0 ? list : list.slice(0, end)) || undefined
}
const idIn = (containerID: string): string => containerID.slice(containerID.indexOf('://') + 3)
const msOf = (time: string | null | undefined): number => (time ? parseTime(time) : 0)
