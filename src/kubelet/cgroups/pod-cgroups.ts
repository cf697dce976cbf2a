/** Where the processes of pods are held: a group for each class of service, and one for each pod in it. */
import { podLimits, podQosClass, podRequests, type QosClass } from '#api/core/v1/resources.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { milliValueOf } from '#api/meta/quantity.ts'
import type { CgroupFiles } from '#base/cgroup-files.ts'
import type { Logger } from '#base/log.ts'
import type { Processes } from '#base/processes.ts'
import { type GroupLimits, limitGroup, weightOf } from '#kubelet/cgroups/group-limits.ts'
import { type MemoryQos, podReservation } from '#kubelet/cgroups/memory-qos.ts'
import { SystemdSlices } from '#kubelet/cgroups/systemd-slices.ts'
import { cpuQuotaMicros, cpuShares, type SwapControl } from '#kubelet/runtimes/cri/linux-resources.ts'

export type PodCgroupsOptions = {
  cgroups: CgroupFiles
  logger: Logger
  /** The name of the group of all pods; another one for each of several nodes on one machine. */
  root?: string
  /** How many processes a pod may have; as many as there can be where it is not more than 0. */
  podPidsLimit?: number
  /** Containers of the pod have processors for themselves, so that there is nothing to slow down. */
  hasExclusiveCpus?(pod: V1Pod): boolean
  /** What the kernel keeps for pods; absent where it keeps nothing. */
  memoryQos?: Pick<MemoryQos, 'isTiered'>
  /** For groups that systemd keeps: without it they have no limits. */
  processes?: Pick<Processes, 'run'>
}

/** What a pod may use; 0 is as much as there is. */
type Limits = { shares: number; quotaMicros: number; memoryBytes: number }

/** What a pod asks for. */
type Asked = { qos: QosClass; cpuMillis: number; memoryBytes: number }

/** Who makes groups: whoever likes, or systemd alone. */
export type CgroupDriver = 'cgroupfs' | 'systemd'

export class PodCgroups {
  readonly #cgroups: CgroupFiles
  readonly #logger: Logger
  readonly #root: string
  readonly #podPidsLimit: number
  readonly #hasExclusiveCpus: (pod: V1Pod) => boolean
  readonly #memoryQos: Pick<MemoryQos, 'isTiered'> | undefined
  readonly #slices: SystemdSlices | undefined
  #driver: CgroupDriver = 'cgroupfs'
  /** By uid, so that a pod can be forgotten of which nothing but its uid is known. */
  readonly #classes = new Map<string, QosClass>()
  /** By uid: what their common groups are worth. */
  readonly #asked = new Map<string, Asked>()

  constructor({ cgroups, logger, root = 'kubepods', podPidsLimit = 0, hasExclusiveCpus, memoryQos, processes }: PodCgroupsOptions) {
    this.#memoryQos = cgroups.version === 2 ? memoryQos : undefined
    this.#slices = processes && new SystemdSlices({ processes, logger, version: cgroups.version })
    this.#podPidsLimit = podPidsLimit
    this.#cgroups = cgroups
    this.#hasExclusiveCpus = hasExclusiveCpus ?? (() => false)
    this.#logger = logger
    this.#root = root
  }

  /** Takes up what an agent before this one has left. */
  async takeUp(driver: CgroupDriver): Promise<void> {
    this.#driver = driver
    for (const { podUid, qos, group } of await this.#groups()) {
      this.#classes.set(podUid, qos)
      const { shares } = await this.#limitsIn(group)
      const kept = qos === 'Guaranteed' ? 'memory.min' : 'memory.low'
      const memoryBytes = this.#memoryQos ? Number((await this.#cgroups.read(this.#directory(group), 'memory', kept)) ?? 0) : 0
      this.#asked.set(podUid, { qos, cpuMillis: Math.round((shares * 1000) / 1024), memoryBytes })
    }
  }

  /** How a container is kept from swapping; undefined where the kernel counts no swap. */
  async swapControl(): Promise<SwapControl | undefined> {
    const { version } = this.#cgroups
    if (this.#driver === 'cgroupfs') await this.#cgroups.make(this.#root)
    const limit = await this.#cgroups.read(
      this.directoryOfAll(),
      'memory',
      version === 1 ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max',
    )
    return limit === undefined ? undefined : version === 1 ? 'memoryAndSwap' : 'swap'
  }

  /** As runtimes are told: `/kubepods/burstable/pod…`, or `kubepods-burstable-pod….slice`. */
  parentOf(pod: V1Pod): string {
    const group = this.#groupOf(pod)
    return this.#driver === 'systemd' ? sliceOf(group) : group
  }

  /** Below the kernel's mount points: slices lie in the slices that their names begin with. */
  directoryOf(pod: V1Pod): string {
    return this.#directory(this.#groupOf(pod))
  }

  /** The group of all pods. */
  directoryOfAll(): string {
    return this.#directory(`/${this.#root}`)
  }

  #directory(group: string): string {
    if (this.#driver !== 'systemd') return group.slice(1)
    const parts = group.split('/').filter(Boolean)
    return parts.map((_, index) => sliceOf(parts.slice(0, index + 1).join('/'))).join('/')
  }

  /** Keeps all pods together within what is theirs. */
  async limitAll(limits: GroupLimits): Promise<void> {
    if (this.#driver === 'cgroupfs') await this.#cgroups.make(this.#root)
    await this.#limit(`/${this.#root}`, limits)
  }

  /** Makes the pod's group, or brings its limits up to date. */
  async ensure(pod: V1Pod): Promise<void> {
    const group = this.#groupOf(pod)
    await this.#prepare(pod, group)
    await this.#limit(group, {
      ...this.#limitsOf(pod),
      ...(this.#podPidsLimit > 0 && { pids: this.#podPidsLimit }),
      ...(this.#memoryQos && podReservation(pod, this.#memoryQos)),
    })
  }

  /** Where the pod's memory is to be limited more than it is: the limit, and what is in use. */
  async loweredMemory(pod: V1Pod): Promise<{ limitBytes: number; usedBytes: number } | undefined> {
    const group = this.#groupOf(pod)
    const { memoryBytes: limitBytes } = this.#limitsOf(pod)
    const { memoryBytes: nowBytes } = await this.#limitsIn(group)
    if (limitBytes === 0 || (nowBytes !== 0 && limitBytes >= nowBytes)) return undefined
    const file = this.#cgroups.version === 1 ? 'memory.usage_in_bytes' : 'memory.current'
    return { limitBytes, usedBytes: Number((await this.#cgroups.read(this.#directory(group), 'memory', file)) ?? 0) }
  }

  /** Raises limits that are to be raised and lowers none: for before the containers are resized. */
  async widen(pod: V1Pod): Promise<void> {
    const group = this.#groupOf(pod)
    await this.#prepare(pod, group)
    const wanted = this.#limitsOf(pod)
    const now = await this.#limitsIn(group)
    const wider = (one: number, other: number) => (one === 0 || other === 0 ? 0 : Math.max(one, other))
    await this.#limit(group, {
      shares: Math.max(wanted.shares, now.shares),
      quotaMicros: wider(wanted.quotaMicros, now.quotaMicros),
      memoryBytes: wider(wanted.memoryBytes, now.memoryBytes),
    })
  }

  /** Brings the limits up to date as far as containers that still run with other ones let it: for before another one starts. */
  async follow(pod: V1Pod): Promise<void> {
    const lowered = await this.loweredMemory(pod)
    if (lowered === undefined || lowered.usedBytes <= lowered.limitBytes) {
      try {
        await this.ensure(pod)
        return
      } catch (error) {
        // With cgroup v1 the kernel refuses a limit of CPU below one within; that is lowered when the container has its own.
        this.#logger.debug('failed to lower the limits of a pod cgroup', { pod: pod.metadata.uid ?? '', error: String(error) })
      }
    }
    await this.widen(pod)
  }

  /** Nothing of the pod runs any more. */
  async remove(podUid: string): Promise<void> {
    const known = this.#classes.get(podUid)
    const classes: readonly QosClass[] = known === undefined ? ['Guaranteed', 'Burstable', 'BestEffort'] : [known]
    for (const qos of classes) {
      const group = groupOf(this.#root, qos, podUid)
      const isThere = known !== undefined || (await this.#cgroups.read(this.#directory(group), 'memory', 'cgroup.procs')) !== undefined
      if (this.#driver === 'systemd') await (isThere ? this.#slices?.remove(sliceOf(group)) : undefined)
      else if (!(await this.#cgroups.remove(group)))
        this.#logger.warn('failed to remove orphaned pod cgroup: it still has processes', { group })
    }
    this.#classes.delete(podUid)
    if (this.#asked.delete(podUid)) await this.#weighClasses()
  }

  /** Removes the groups of pods that are gone while nobody looked. */
  async removeOrphans(isKnown: (podUid: string) => boolean): Promise<void> {
    for (const { podUid } of await this.#groups()) if (!isKnown(podUid)) await this.remove(podUid)
  }

  /** Removes everything: for a node that is taken down for good. */
  async removeAll(): Promise<void> {
    await this.#cgroups.remove(this.#root)
  }

  async #groups(): Promise<{ podUid: string; qos: QosClass; group: string }[]> {
    const found: { podUid: string; qos: QosClass; group: string }[] = []
    for (const qos of ['Guaranteed', 'Burstable', 'BestEffort'] as const) {
      const parent = groupOf(this.#root, qos, '').replace(/\/pod$/, '')
      for (const name of await this.#cgroups.children(this.#directory(parent))) {
        const podUid = this.#podUidIn(name, parent)
        if (podUid !== undefined) found.push({ podUid, qos, group: `${parent}/pod${podUid}` })
      }
    }
    return found
  }

  #podUidIn(name: string, parent: string): string | undefined {
    if (this.#driver === 'cgroupfs') return name.startsWith('pod') ? name.slice('pod'.length) : undefined
    const prefix = `${sliceOf(parent).replace(/\.slice$/, '')}-pod`
    return name.startsWith(prefix) && name.endsWith('.slice') ? name.slice(prefix.length, -'.slice'.length).replaceAll('_', '-') : undefined
  }

  async #prepare(pod: V1Pod, group: string): Promise<void> {
    const { uid = '' } = pod.metadata
    const qos = podQosClass(pod)
    this.#classes.set(uid, qos)
    if (this.#driver === 'cgroupfs') await this.#cgroups.make(group)
    const requests = podRequests(pod.spec)
    const asked = { qos, cpuMillis: requests['cpu']?.milliValue() ?? 0, memoryBytes: requests['memory']?.value() ?? 0 }
    if (qos === 'BestEffort') await this.#limit(`/${this.#root}/besteffort`, { shares: cpuShares(0) })
    const before = this.#asked.get(uid)
    this.#asked.set(uid, asked)
    const isSame = before?.qos === qos && before.cpuMillis === asked.cpuMillis && before.memoryBytes === asked.memoryBytes
    if (!isSame && (qos === 'Burstable' || this.#memoryQos !== undefined)) await this.#weighClasses()
  }

  /** Bursting pods together weigh as much as they ask for, so that guaranteed ones keep theirs. */
  async #weighClasses(): Promise<void> {
    let cpuMillis = 0
    const bytes: Record<QosClass, number> = { Guaranteed: 0, Burstable: 0, BestEffort: 0 }
    for (const asked of this.#asked.values()) {
      if (asked.qos === 'Burstable') cpuMillis += asked.cpuMillis
      if (this.#memoryQos?.isTiered) bytes[asked.qos] += asked.memoryBytes
    }
    await this.#limit(`/${this.#root}/burstable`, {
      shares: cpuShares(cpuMillis),
      ...(this.#memoryQos && { memoryLowBytes: bytes.Burstable }),
    })
    // What a group keeps counts only as far as the groups around it keep it.
    if (this.#memoryQos) await this.#limit(`/${this.#root}`, { memoryMinBytes: bytes.Guaranteed + bytes.Burstable })
  }

  #groupOf(pod: V1Pod): string {
    return groupOf(this.#root, podQosClass(pod), pod.metadata.uid ?? '')
  }

  #limitsOf(pod: V1Pod): Limits {
    return this.#hasExclusiveCpus(pod) ? { ...limitsOf(pod), quotaMicros: 0 } : limitsOf(pod)
  }

  async #limit(group: string, limits: GroupLimits): Promise<void> {
    if (this.#driver === 'systemd') await this.#slices?.limit(sliceOf(group), limits)
    else await limitGroup(this.#cgroups, group, limits)
  }

  async #limitsIn(pods: string): Promise<Limits> {
    const group = this.#directory(pods)
    const number = (text: string | undefined) => (text === undefined || !/^\d+$/.test(text) ? 0 : Number(text))
    if (this.#cgroups.version === 1) {
      const memory = number(await this.#cgroups.read(group, 'memory', 'memory.limit_in_bytes'))
      return {
        shares: number(await this.#cgroups.read(group, 'cpu', 'cpu.shares')),
        quotaMicros: number(await this.#cgroups.read(group, 'cpu', 'cpu.cfs_quota_us')),
        // No limit is written as the largest number of whole pages.
        memoryBytes: memory > Number.MAX_SAFE_INTEGER ? 0 : memory,
      }
    }
    const [quota] = ((await this.#cgroups.read(group, 'cpu', 'cpu.max')) ?? '').split(' ')
    return {
      shares: sharesOf(number(await this.#cgroups.read(group, 'cpu', 'cpu.weight'))),
      quotaMicros: number(quota),
      memoryBytes: number(await this.#cgroups.read(group, 'memory', 'memory.max')),
    }
  }
}

function groupOf(root: string, qos: QosClass, podUid: string): string {
  const within = qos === 'Guaranteed' ? '' : `/${qos.toLowerCase()}`
  return `/${root}${within}/pod${podUid}`
}

/** A slice's name holds those it lies in, and a hyphen between each. */
function sliceOf(group: string): string {
  const parts = group.split('/').filter(Boolean)
  return `${parts.map((part) => part.replaceAll('-', '_')).join('-')}.slice`
}

function limitsOf({ spec }: V1Pod): Limits {
  const requests = podRequests(spec)
  const limits = podLimits(spec)
  const containers = [...(spec.initContainers ?? []), ...spec.containers]
  // A container without a limit leaves the pod without one, unless the pod has its own.
  const isLimited = (resource: 'cpu' | 'memory') =>
    isSet(spec.resources?.limits?.[resource]) || containers.every(({ resources }) => isSet(resources?.limits?.[resource]))
  return {
    shares: cpuShares(requests['cpu']?.milliValue() ?? 0),
    quotaMicros: isLimited('cpu') ? cpuQuotaMicros(limits['cpu']?.milliValue() ?? 0) : 0,
    memoryBytes: isLimited('memory') ? (limits['memory']?.value() ?? 0) : 0,
  }
}

const isSet = (amount: string | undefined): boolean => milliValueOf(amount) > 0

/** The fewest shares that weigh as much. */
function sharesOf(weight: number): number {
  if (weight === 0) return 0
  let low = 2
  let high = 262_144
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (weightOf(middle) >= weight) high = middle
    else low = middle + 1
  }
  return low
}
