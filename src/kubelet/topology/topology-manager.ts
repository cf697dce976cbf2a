/** Gives each container of a pod what it asks for of processors, memory and devices, from NUMA nodes that all of them agree on. */
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import type { Counter, Metrics } from '#base/metrics.ts'
import { AdmissionError } from '#kubelet/topology/admission-error.ts'
import { mergeHints, type TopologyHint, type TopologyHints, type TopologyPolicy } from '#kubelet/topology/topology-hint.ts'

/** One that hands out something. */
export type HintProvider = {
  hints(pod: V1Pod, container: V1Container): TopologyHints
  podHints(pod: V1Pod): TopologyHints
  /** Rejects where it cannot be had. What a container has already it keeps. */
  allocate(pod: V1Pod, container: V1Container): Promise<void> | void
}

/** Which nodes a container was admitted to; any where nobody has said. */
export type Affinities = { affinityOf(podUid: string, container: string): TopologyHint }

export type TopologyManagerOptions = {
  /** Undefined: nobody is asked. */
  policy: TopologyPolicy | undefined
  scope: 'container' | 'pod'
  metrics: Metrics
}

const anyNode: TopologyHint = { affinity: undefined, isPreferred: true }

export class TopologyManager implements Affinities {
  readonly #options: TopologyManagerOptions
  readonly #providers: HintProvider[] = []
  readonly #hints = new Map<string, Map<string, TopologyHint>>()
  readonly #requests: Counter
  readonly #errors: Counter

  constructor(options: TopologyManagerOptions) {
    this.#options = options
    const { metrics } = options
    this.#requests = metrics.counter('kubelet_topology_manager_admission_requests_total', 'Pods whose resources had to be aligned.')
    this.#errors = metrics.counter(
      'kubelet_topology_manager_admission_errors_total',
      'Pods refused because their resources could not be aligned.',
    )
  }

  add(provider: HintProvider): void {
    this.#providers.push(provider)
  }

  affinityOf(podUid: string, container: string): TopologyHint {
    return this.#hints.get(podUid)?.get(container) ?? anyNode
  }

  forget(podUid: string): void {
    this.#hints.delete(podUid)
  }

  /** Rejects with an `AdmissionError` where a policy forbids it; what was given until then is the caller's to give back. */
  async admit(pod: V1Pod): Promise<void> {
    const { policy, scope } = this.#options
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers]
    if (policy !== undefined) this.#requests.inc()
    if (policy !== undefined && scope === 'pod') {
      const hint = this.#agreed(
        policy,
        this.#providers.map((provider) => provider.podHints(pod)),
      )
      for (const { name } of containers) this.#remember(pod, name, hint)
    }
    for (const container of containers) {
      if (policy !== undefined && scope === 'container') {
        const hint = this.#agreed(
          policy,
          this.#providers.map((provider) => provider.hints(pod, container)),
        )
        this.#remember(pod, container.name, hint)
      }
      for (const provider of this.#providers) await provider.allocate(pod, container)
    }
  }

  #agreed(policy: TopologyPolicy, hints: readonly TopologyHints[]): TopologyHint {
    const { hint, isAdmitted } = mergeHints(policy, hints)
    if (isAdmitted) return hint
    this.#errors.inc()
    throw new AdmissionError('TopologyAffinityError', 'Resources cannot be allocated with Topology locality')
  }

  #remember(pod: V1Pod, container: string, hint: TopologyHint): void {
    const { uid = '' } = pod.metadata
    const known = this.#hints.get(uid) ?? new Map<string, TopologyHint>()
    known.set(container, hint)
    this.#hints.set(uid, known)
  }
}
