/** Gives containers of guaranteed pods that ask for whole processors these processors for themselves (`cpuManagerPolicy: static`). */
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import { podQosClass } from '#api/core/v1/resources.ts'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { milliValueOf } from '#api/meta/quantity.ts'
import type { Counter, Gauge, Metrics } from '#base/metrics.ts'
import type { CpuAssignments } from '#kubelet/cpu-manager/cpu-assignments.ts'
import { CpuLayout } from '#kubelet/cpu-manager/cpu-layout.ts'
import type { CpuPolicyOptions } from '#kubelet/cpu-manager/cpu-policy-options.ts'
import { distributeCpus } from '#kubelet/cpu-manager/distribute-cpus.ts'
import { takeCpus } from '#kubelet/cpu-manager/take-cpus.ts'
import { AdmissionError } from '#kubelet/topology/admission-error.ts'
import { type CpuSet, formatCpuSet, noCpus } from '#kubelet/topology/cpu-set.ts'
import type { MachineTopology } from '#kubelet/topology/machine-topology.ts'
import { hasNode, masksOver, type NumaMask, nodeCount, nodesIn } from '#kubelet/topology/numa-mask.ts'
import type { TopologyHint, TopologyHints } from '#kubelet/topology/topology-hint.ts'
import type { Affinities, HintProvider } from '#kubelet/topology/topology-manager.ts'

export type CpuManagerOptions = {
  topology: MachineTopology
  options: CpuPolicyOptions
  /** How many are kept for the system, or which. */
  reserved: number | CpuSet
  affinities: Affinities
  /** Loaded. */
  assignments: CpuAssignments
  metrics: Metrics
}

export class CpuManager implements HintProvider {
  readonly #options: CpuManagerOptions
  readonly #machine: CpuLayout
  readonly #cpusPerCore: number
  readonly #reserved: CpuSet
  readonly #reservedCores: CpuSet
  readonly #reusable = new Map<string, CpuSet>()
  readonly #requests: Counter
  readonly #errors: Counter
  readonly #sharedSize: Gauge
  readonly #exclusiveCount: Gauge

  /** Throws where the options, the reservation or the state do not fit the machine. */
  constructor(options: CpuManagerOptions) {
    this.#options = options
    this.#machine = CpuLayout.of(options.topology)
    this.#cpusPerCore = Math.max(1, Math.floor(this.#machine.places.size / this.#machine.ids('core').length))
    const { reserved, assignments, metrics } = options
    this.#reserved = typeof reserved === 'number' ? this.#take(this.#machine.cpus, reserved) : reserved
    const cores = [...this.#reserved].map((cpu) => {
      const place = this.#machine.places.get(cpu)
      if (place === undefined) throw new Error(`[cpumanager] unable to reserve the required CPUs ${formatCpuSet(this.#reserved)}`)
      return place.core
    })
    this.#reservedCores = this.#machine.inAny('core', cores)
    assignments.verify(this.#machine.cpus, this.#reserved, options.options.isStrict)
    this.#requests = metrics.counter('kubelet_cpu_manager_pinning_requests_total', 'Allocations of exclusive CPUs.')
    this.#errors = metrics.counter('kubelet_cpu_manager_pinning_errors_total', 'Allocations of exclusive CPUs that failed.')
    this.#sharedSize = metrics.gauge(
      'kubelet_cpu_manager_shared_pool_size_millicores',
      'What is left of the CPUs for containers without exclusive ones, in millicores.',
    )
    this.#exclusiveCount = metrics.gauge('kubelet_cpu_manager_exclusive_cpu_allocation_count', 'CPUs that containers have for themselves.')
    this.#count()
  }

  /** Those that containers can have for themselves. */
  get allocatable(): CpuSet {
    return this.#machine.cpus.difference(this.#reserved)
  }

  /** Its own, or those that are left to all. */
  cpusOf(podUid: string, container: string): CpuSet {
    return this.exclusiveCpusOf(podUid, container) ?? this.#options.assignments.shared
  }

  exclusiveCpusOf(podUid: string, container: string): CpuSet | undefined {
    return this.#options.assignments.of(podUid, container)
  }

  /** Pods that have some for themselves. */
  get podUids(): string[] {
    return this.#options.assignments.podUids
  }

  async allocate(pod: V1Pod, container: V1Container): Promise<void> {
    const { assignments, affinities } = this.#options
    const { uid = '' } = pod.metadata
    const count = exclusiveCount(pod, container)
    if (count === 0) return
    this.#requests.inc()
    try {
      this.#checkCores(count)
      const present = assignments.of(uid, container.name)
      if (present === undefined) {
        const cpus = this.#cpusFor(count, affinities.affinityOf(uid, container.name).affinity, this.#reusable.get(uid) ?? noCpus)
        assignments.set(uid, container.name, cpus)
      }
      this.#remember(pod, container, assignments.of(uid, container.name) ?? noCpus)
      await assignments.save()
      this.#count()
    } catch (error) {
      this.#errors.inc()
      throw error
    }
  }

  /** The pod needs them no more. Resolves true where it had any. */
  async forget(podUid: string): Promise<boolean> {
    const { assignments } = this.#options
    this.#reusable.delete(podUid)
    if (!assignments.podUids.includes(podUid)) return false
    assignments.forget(podUid)
    this.#count()
    await assignments.save()
    return true
  }

  hints(pod: V1Pod, container: V1Container): TopologyHints {
    const { uid = '' } = pod.metadata
    const count = exclusiveCount(pod, container)
    if (count === 0) return {}
    const present = this.#options.assignments.of(uid, container.name)
    if (present !== undefined) return { cpu: present.size === count ? this.#hintsFrom(present, noCpus, count) : [] }
    return { cpu: this.#hintsFrom(this.#available, this.#reusable.get(uid) ?? noCpus, count) }
  }

  podHints(pod: V1Pod): TopologyHints {
    const { uid = '' } = pod.metadata
    const count = exclusiveCountOfPod(pod)
    if (count === 0) return {}
    let present: CpuSet = noCpus
    for (const container of containersOf(pod)) {
      const cpus = this.#options.assignments.of(uid, container.name)
      if (cpus === undefined) continue
      if (cpus.size !== exclusiveCount(pod, container)) return { cpu: [] }
      present = present.union(cpus)
    }
    if (present.size === count) return { cpu: this.#hintsFrom(present, noCpus, count) }
    return { cpu: this.#hintsFrom(this.#available, (this.#reusable.get(uid) ?? noCpus).union(present), count) }
  }

  get #available(): CpuSet {
    return this.#options.assignments.shared.difference(this.#reserved)
  }

  #checkCores(count: number): void {
    if (!this.#options.options.takesWholeCores) return
    const perCore = this.#cpusPerCore
    if (count % perCore !== 0) {
      throw new AdmissionError('SMTAlignmentError', `SMT Alignment Error: requested ${count} cpus not multiple cpus per core = ${perCore}`)
    }
    const free = this.#options.assignments.shared.difference(this.#reservedCores).size
    if (count <= free) return
    const figures = `available physical CPUs = ${free}, requested CPUs = ${count}, CPUs per core = ${perCore}`
    throw new AdmissionError('SMTAlignmentError', `SMT Alignment Error: not enough free physical CPUs: ${figures}`)
  }

  #cpusFor(count: number, affinity: NumaMask | undefined, reusable: CpuSet): CpuSet {
    const available = this.#available.union(reusable)
    let taken: CpuSet = noCpus
    if (affinity !== undefined) {
      const near = this.#near(affinity).intersection(available)
      taken = this.#take(near, Math.min(count, near.size))
    }
    return taken.union(this.#take(available.difference(taken), count - taken.size))
  }

  #near(affinity: NumaMask): CpuSet {
    const nodes = nodesIn(affinity)
    if (!this.#options.options.alignsBySocket) return this.#machine.inAny('numa', nodes)
    return this.#machine.inAny('socket', this.#socketsOf(nodes))
  }

  #socketsOf(nodes: readonly number[]): Set<number> {
    return new Set(nodes.flatMap((node) => this.#machine.idsWithin('socket', 'numa', node)))
  }

  #take(available: CpuSet, count: number): CpuSet {
    const { distributesAcrossNuma, distributesAcrossCores, takesWholeCores, prefersUncoreCache } = this.#options.options
    const sorting = distributesAcrossCores ? 'spread' : 'packed'
    if (!distributesAcrossNuma) return takeCpus(this.#machine, available, count, { sorting, prefersUncoreCache })
    return distributeCpus(this.#machine, available, count, takesWholeCores ? this.#cpusPerCore : 1, { sorting })
  }

  /** What init containers had is had again by those that run after them. */
  #remember(pod: V1Pod, container: V1Container, cpus: CpuSet): void {
    const { uid = '' } = pod.metadata
    for (const other of this.#reusable.keys()) if (other !== uid) this.#reusable.delete(other)
    const before = this.#reusable.get(uid) ?? noCpus
    const isPassing = pod.spec.initContainers?.some((each) => each.name === container.name && !isSidecar(each)) ?? false
    this.#reusable.set(uid, isPassing ? before.union(cpus) : before.difference(cpus))
  }

  #hintsFrom(available: CpuSet, reusable: CpuSet, count: number): TopologyHint[] {
    const nodes = this.#machine.ids('numa').sort((left, right) => left - right)
    let fewest = nodes.length
    const masks: NumaMask[] = []
    const nodeOf = (cpu: number) => this.#machine.places.get(cpu)?.numa ?? 0
    for (const mask of masksOver(nodes)) {
      if (this.#machine.inAny('numa', nodesIn(mask)).size >= count) fewest = Math.min(fewest, nodeCount(mask))
      if ([...reusable].some((cpu) => !hasNode(mask, nodeOf(cpu)))) continue
      const matching = reusable.size + [...available].filter((cpu) => hasNode(mask, nodeOf(cpu))).length
      if (matching >= count) masks.push(mask)
    }
    return masks.map((affinity) => ({ affinity, isPreferred: nodeCount(affinity) === fewest || this.#fillsSockets(affinity, fewest) }))
  }

  #fillsSockets(affinity: NumaMask, fewest: number): boolean {
    if (!this.#options.options.alignsBySocket) return false
    const perSocket = Math.floor(this.#machine.ids('numa').length / this.#machine.ids('socket').length)
    return perSocket > 0 && this.#socketsOf(nodesIn(affinity)).size === Math.ceil(fewest / perSocket)
  }

  #count(): void {
    this.#sharedSize.set(this.#available.size * 1000)
    this.#exclusiveCount.set(this.#options.assignments.all.reduce((sum, cpus) => sum.union(cpus), noCpus).size)
  }
}

/** How many processors a container is to have for itself. */
function exclusiveCount(pod: V1Pod, { resources }: V1Container): number {
  if (podQosClass(pod) !== 'Guaranteed' || pod.spec.resources !== undefined) return 0
  const millis = milliValueOf(resources?.requests?.['cpu'])
  return millis % 1000 === 0 ? millis / 1000 : 0
}

const containersOf = ({ spec }: V1Pod): V1Container[] => [...(spec.initContainers ?? []), ...spec.containers]

function exclusiveCountOfPod(pod: V1Pod): number {
  let sidecars = 0
  let peak = 0
  for (const container of pod.spec.initContainers ?? []) {
    const count = exclusiveCount(pod, container)
    if (isSidecar(container)) sidecars += count
    else peak = Math.max(peak, sidecars + count)
  }
  const lasting = pod.spec.containers.reduce((sum, container) => sum + exclusiveCount(pod, container), sidecars)
  return Math.max(peak, lasting)
}
