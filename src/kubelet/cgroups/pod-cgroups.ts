/** Where the processes of pods are held: a group for each class of service, and one for each pod in it. */
import { podLimits, podQosClass, podRequests, type QosClass } from '#api/core/v1/resources.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { milliValueOf } from '#api/meta/quantity.ts'
import type { CgroupFiles } from '#base/cgroup-files.ts'
import type { Logger } from '#base/log.ts'
import { cpuQuotaMicros, cpuShares, quotaPeriodMicros, type SwapControl } from '#kubelet/runtimes/cri/linux-resources.ts'

export type PodCgroupsOptions = {
  cgroups: CgroupFiles
  logger: Logger
  /** The name of the group of all pods; another one for each of several nodes on one machine. */
  root?: string
}

/** What a pod may use; 0 is as much as there is. */
type Limits = { shares: number; quotaMicros: number; memoryBytes: number }

/** Who makes groups: whoever likes, or systemd alone. */
export type CgroupDriver = 'cgroupfs' | 'systemd'

export class PodCgroups {
  readonly #cgroups: CgroupFiles
  readonly #logger: Logger
  readonly #root: string
  #driver: CgroupDriver = 'cgroupfs'
  /** By uid, so that a pod can be forgotten of which nothing but its uid is known. */
  readonly #classes = new Map<string, QosClass>()
  /** By uid, what bursting pods ask for: what their common group is worth. */
  readonly #burstable = new Map<string, number>()

  constructor({ cgroups, logger, root = 'kubepods' }: PodCgroupsOptions) {
    this.#cgroups = cgroups
    this.#logger = logger
    this.#root = root
  }

  /** Takes up what an agent before this one has left. With systemd it makes the groups itself, and none has limits of its own. */
  async takeUp(driver: CgroupDriver): Promise<void> {
    this.#driver = driver
    if (driver === 'systemd') return
    for (const { podUid, qos, group } of await this.#groups()) {
      this.#classes.set(podUid, qos)
      if (qos === 'Burstable') this.#burstable.set(podUid, Math.round(((await this.#limitsIn(group)).shares * 1000) / 1024))
    }
  }

  /** How a container is kept from swapping; undefined where the kernel counts no swap. */
  async swapControl(): Promise<SwapControl | undefined> {
    if (this.#driver === 'systemd') return undefined
    const { version } = this.#cgroups
    await this.#cgroups.make(this.#root)
    const limit = await this.#cgroups.read(this.#root, 'memory', version === 1 ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max')
    return limit === undefined ? undefined : version === 1 ? 'memoryAndSwap' : 'swap'
  }

  /** As runtimes are told: `/kubepods/burstable/pod…`, or `kubepods-burstable-pod….slice`. */
  parentOf(pod: V1Pod): string {
    const group = groupOf(this.#root, podQosClass(pod), pod.metadata.uid ?? '')
    return this.#driver === 'systemd' ? sliceOf(group) : group
  }

  /** Below the kernel's mount points: slices lie in the slices that their names begin with. */
  directoryOf(pod: V1Pod): string {
    return this.#directory(groupOf(this.#root, podQosClass(pod), pod.metadata.uid ?? ''))
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

  /** Makes the pod's group, or brings its limits up to date. */
  async ensure(pod: V1Pod): Promise<void> {
    if (this.#driver === 'systemd') return
    const group = this.parentOf(pod)
    await this.#prepare(pod, group)
    await this.#limit(group, limitsOf(pod))
  }

  /** Raises limits that are to be raised and lowers none: for before the containers are resized. */
  async widen(pod: V1Pod): Promise<void> {
    if (this.#driver === 'systemd') return
    const group = this.parentOf(pod)
    await this.#prepare(pod, group)
    const wanted = limitsOf(pod)
    const now = await this.#limitsIn(group)
    const wider = (one: number, other: number) => (one === 0 || other === 0 ? 0 : Math.max(one, other))
    await this.#limit(group, {
      shares: Math.max(wanted.shares, now.shares),
      quotaMicros: wider(wanted.quotaMicros, now.quotaMicros),
      memoryBytes: wider(wanted.memoryBytes, now.memoryBytes),
    })
  }

  /** Nothing of the pod runs any more. */
  async remove(podUid: string): Promise<void> {
    if (this.#driver === 'systemd') return
    const known = this.#classes.get(podUid)
    const classes: readonly QosClass[] = known === undefined ? ['Guaranteed', 'Burstable', 'BestEffort'] : [known]
    for (const qos of classes) {
      const group = groupOf(this.#root, qos, podUid)
      if (!(await this.#cgroups.remove(group))) this.#logger.warn('failed to remove orphaned pod cgroup: it still has processes', { group })
    }
    this.#classes.delete(podUid)
    if (this.#burstable.delete(podUid)) await this.#weighBurstable()
  }

  /** Removes the groups of pods that are gone while nobody looked. */
  async removeOrphans(isKnown: (podUid: string) => boolean): Promise<void> {
    if (this.#driver === 'systemd') return
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
      for (const name of await this.#cgroups.children(parent)) {
        if (name.startsWith('pod')) found.push({ podUid: name.slice('pod'.length), qos, group: `${parent}/${name}` })
      }
    }
    return found
  }

  async #prepare(pod: V1Pod, group: string): Promise<void> {
    const { uid = '' } = pod.metadata
    const qos = podQosClass(pod)
    this.#classes.set(uid, qos)
    await this.#cgroups.make(group)
    if (qos === 'BestEffort') await this.#weigh(`${this.#root}/besteffort`, cpuShares(0))
    if (qos !== 'Burstable') return
    const cpuMillis = podRequests(pod.spec)['cpu']?.milliValue() ?? 0
    if (this.#burstable.get(uid) === cpuMillis) return
    this.#burstable.set(uid, cpuMillis)
    await this.#weighBurstable()
  }

  /** Bursting pods together weigh as much as they ask for, so that guaranteed ones keep theirs. */
  async #weighBurstable(): Promise<void> {
    let cpuMillis = 0
    for (const each of this.#burstable.values()) cpuMillis += each
    await this.#weigh(`${this.#root}/burstable`, cpuShares(cpuMillis))
  }

  async #weigh(group: string, shares: number): Promise<void> {
    if (this.#cgroups.version === 1) await this.#cgroups.write(group, 'cpu', 'cpu.shares', String(shares))
    else await this.#cgroups.write(group, 'cpu', 'cpu.weight', String(weightOf(shares)))
  }

  async #limit(group: string, { shares, quotaMicros, memoryBytes }: Limits): Promise<void> {
    await this.#weigh(group, shares)
    if (this.#cgroups.version === 1) {
      await this.#cgroups.write(group, 'cpu', 'cpu.cfs_period_us', String(quotaPeriodMicros))
      await this.#cgroups.write(group, 'cpu', 'cpu.cfs_quota_us', String(quotaMicros || -1))
      await this.#cgroups.write(group, 'memory', 'memory.limit_in_bytes', String(memoryBytes || -1))
    } else {
      await this.#cgroups.write(group, 'cpu', 'cpu.max', `${quotaMicros || 'max'} ${quotaPeriodMicros}`)
      await this.#cgroups.write(group, 'memory', 'memory.max', String(memoryBytes || 'max'))
    }
  }

  async #limitsIn(group: string): Promise<Limits> {
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

/** Shares of 2 to 262144 are weights of 1 to 10000; the curve is the one that runc of 1.3 and crun use. */
export function weightOf(shares: number): number {
  if (shares === 0) return 0
  if (shares <= 2) return 1
  if (shares >= 262_144) return 10_000
  const log = Math.log2(shares)
  return Math.ceil(10 ** ((log * log + 125 * log) / 612 - 7 / 34))
}

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
