/** Promises memory of NUMA nodes to containers of guaranteed pods (`memoryManagerPolicy: Static`). */
import { isSidecar } from '#api/core/v1/pod-spec/all-containers.ts'
import { podQosClass } from '#api/core/v1/resources.ts'
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import { wholeValueOf } from '#api/meta/quantity.ts'
import type { Counter, Metrics } from '#base/metrics.ts'
import type { MemoryBlock, MemoryLedger } from '#kubelet/memory-manager/memory-ledger.ts'
import { isNarrower, maskOf, masksOver, type NumaMask, nodeCount, nodesIn } from '#kubelet/topology/numa-mask.ts'
import type { TopologyHint, TopologyHints } from '#kubelet/topology/topology-hint.ts'
import type { Affinities, HintProvider } from '#kubelet/topology/topology-manager.ts'

export type MemoryManagerOptions = {
  affinities: Affinities
  /** Loaded. */
  ledger: MemoryLedger
  metrics: Metrics
}

/** By kind of memory, in bytes. */
type Amounts = Record<string, number>

export class MemoryManager implements HintProvider {
  readonly #options: MemoryManagerOptions
  readonly #requests: Counter
  readonly #errors: Counter
  /** By pod: memory that init containers had, by the nodes it lies on. */
  readonly #reusable = new Map<string, Map<NumaMask, Amounts>>()

  constructor(options: MemoryManagerOptions) {
    this.#options = options
    const { metrics } = options
    this.#requests = metrics.counter('kubelet_memory_manager_pinning_requests_total', 'Allocations of pinned memory.')
    this.#errors = metrics.counter('kubelet_memory_manager_pinning_errors_total', 'Allocations of pinned memory that failed.')
  }

  /** What containers can be promised, by node. */
  get allocatable(): MemoryBlock[] {
    return [...this.#options.ledger.nodes].flatMap(([id, { memoryMap }]) =>
      Object.entries(memoryMap).flatMap(([type, { allocatable }]) =>
        allocatable === 0 ? [] : { numaAffinity: [id], type, size: allocatable },
      ),
    )
  }

  blocksOf(podUid: string, container: string): MemoryBlock[] {
    return this.#options.ledger.of(podUid, container) ?? []
  }

  /** The nodes a container may use memory of; none where it may use all. */
  nodesOf(podUid: string, container: string): number[] {
    return [...new Set(this.blocksOf(podUid, container).flatMap(({ numaAffinity }) => numaAffinity))].sort((left, right) => left - right)
  }

  /** Pods that were promised some. */
  get podUids(): string[] {
    return this.#options.ledger.podUids
  }

  async allocate(pod: V1Pod, container: V1Container): Promise<void> {
    const { ledger } = this.#options
    const { uid = '' } = pod.metadata
    if (!isServed(pod)) return
    this.#requests.inc()
    const present = ledger.of(uid, container.name)
    if (present !== undefined) {
      this.#remember(pod, container, present)
      return
    }
    try {
      const wanted = amountsOf(container)
      const mask = this.#maskFor(pod, container, wanted)
      const blocks = Object.entries(wanted).map(([type, size]) => ({ numaAffinity: nodesIn(mask), type, size }))
      const added = blocks.map((block) => ({ ...block, size: Math.max(0, block.size - this.#reusableOf(uid, mask, block.type)) }))
      ledger.set(uid, container.name, blocks, added)
      this.#remember(pod, container, blocks)
      this.#takeOver(pod, container, blocks)
      await ledger.save()
    } catch (error) {
      this.#errors.inc()
      throw error
    }
  }

  async forget(podUid: string): Promise<void> {
    const { ledger } = this.#options
    this.#reusable.delete(podUid)
    if (!ledger.has(podUid)) return
    ledger.forget(podUid)
    await ledger.save()
  }

  hints(pod: V1Pod, container: V1Container): TopologyHints {
    if (!isServed(pod)) return {}
    const wanted = amountsOf(container)
    const present = this.#options.ledger.of(pod.metadata.uid ?? '', container.name)
    return present === undefined ? this.#hintsFor(pod, wanted) : hintsAgain(present, wanted)
  }

  podHints(pod: V1Pod): TopologyHints {
    if (!isServed(pod)) return {}
    const wanted = amountsOfPod(pod)
    for (const { name } of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const present = this.#options.ledger.of(pod.metadata.uid ?? '', name)
      if (present !== undefined) return hintsAgain(present, wanted)
    }
    return this.#hintsFor(pod, wanted)
  }

  /** The nodes agreed on; where there were none, or they hold too little, the best that do. */
  #maskFor(pod: V1Pod, container: V1Container, wanted: Amounts): NumaMask {
    const { affinities, ledger } = this.#options
    const agreed = affinities.affinityOf(pod.metadata.uid ?? '', container.name)
    let { affinity } = agreed
    if (affinity === undefined) {
      const best = bestOf(this.#hintsFor(pod, wanted)['memory'] ?? [])
      if (best === undefined) {
        throw new Error('[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available')
      }
      if (!best.isPreferred && agreed.isPreferred) throw new Error('[memorymanager] failed to find the default preferred hint')
      affinity = best.affinity as NumaMask
    }
    const nodes = nodesIn(affinity)
    if (Object.entries(wanted).some(([type, size]) => ledger.free(nodes, type) < size)) {
      const narrow = affinity
      const wider = (this.#hintsFor(pod, wanted)['memory'] ?? []).filter((hint) => ((hint.affinity ?? 0) & narrow) === narrow)
      const best = bestOf(wider)
      if (best === undefined) throw new Error('[memorymanager] failed to find NUMA nodes to extend the current topology hint')
      if (!best.isPreferred && agreed.isPreferred) throw new Error('[memorymanager] failed to find the extended preferred hint')
      affinity = best.affinity as NumaMask
    }
    if (this.#isMixed(affinity)) throw new Error('[memorymanager] preferred hint violates NUMA node allocation')
    return affinity
  }

  /** Nodes are used alone, or always together with the same others. */
  #isMixed(mask: NumaMask): boolean {
    if (nodeCount(mask) === 1) return false
    return nodesIn(mask).some((id) => {
      const node = this.#options.ledger.nodes.get(id)
      return node !== undefined && node.numberOfAssignments > 0 && maskOf(node.cells) !== mask
    })
  }

  #hintsFor(pod: V1Pod, wanted: Amounts): Record<string, TopologyHint[]> {
    const { ledger } = this.#options
    const all = [...ledger.nodes.keys()].sort((left, right) => left - right)
    const amounts = Object.entries(wanted)
    let fewest = all.length
    const masks: NumaMask[] = []
    for (const mask of masksOver(all)) {
      const nodes = nodesIn(mask)
      if (amounts.some(([type, size]) => ledger.allocatable(nodes, type) < size)) continue
      fewest = Math.min(fewest, nodes.length)
      const only = nodes.length === 1 ? ledger.nodes.get(nodes[0] as number) : undefined
      if ((only !== undefined && only.cells.length > 1) || this.#isMixed(mask)) continue
      const has = (type: string) => ledger.free(nodes, type) + this.#reusableOf(pod.metadata.uid ?? '', mask, type)
      if (amounts.every(([type, size]) => has(type) >= size)) masks.push(mask)
    }
    const hints = masks.map((affinity) => ({ affinity, isPreferred: nodeCount(affinity) === fewest }))
    // Upstream says nothing at all where nothing fits, and so does not stand in the way of best effort.
    return hints.length === 0 ? {} : Object.fromEntries(amounts.map(([type]) => [type, hints]))
  }

  #reusableOf(podUid: string, mask: NumaMask, type: string): number {
    return this.#reusable.get(podUid)?.get(mask)?.[type] ?? 0
  }

  #remember(pod: V1Pod, container: V1Container, blocks: readonly MemoryBlock[]): void {
    const { uid = '' } = pod.metadata
    for (const other of this.#reusable.keys()) if (other !== uid) this.#reusable.delete(other)
    const byMask = this.#reusable.get(uid) ?? new Map<NumaMask, Amounts>()
    this.#reusable.set(uid, byMask)
    const isPassing = isPassingInit(pod, container)
    for (const { numaAffinity, type, size } of blocks) {
      const mask = maskOf(numaAffinity)
      const before = byMask.get(mask)?.[type] ?? 0
      byMask.set(mask, { ...byMask.get(mask), [type]: isPassing ? Math.max(before, size) : Math.max(0, before - size) })
    }
  }

  /** What earlier init containers had and this one uses again is counted as this one's alone. */
  #takeOver(pod: V1Pod, container: V1Container, blocks: readonly MemoryBlock[]): void {
    const { ledger } = this.#options
    const { uid = '' } = pod.metadata
    for (const block of blocks) {
      let rest = block.size
      for (const init of pod.spec.initContainers ?? []) {
        if (init.name === container.name || rest === 0) break
        const had = isSidecar(init) ? undefined : ledger.of(uid, init.name)
        if (had === undefined) continue
        const shrunk = had.map((each) => {
          if (each.type !== block.type || maskOf(each.numaAffinity) !== maskOf(block.numaAffinity)) return each
          const part = Math.min(rest, each.size)
          rest -= part
          return { ...each, size: each.size - part }
        })
        ledger.shrink(uid, init.name, shrunk)
      }
    }
  }
}

/** Pods with resources of their own are not pinned. */
const isServed = (pod: V1Pod): boolean => podQosClass(pod) === 'Guaranteed' && pod.spec.resources === undefined

const isPassingInit = ({ spec }: V1Pod, { name }: V1Container): boolean =>
  spec.initContainers?.some((init) => init.name === name && !isSidecar(init)) ?? false

function amountsOf({ resources }: V1Container): Amounts {
  const requests = Object.entries(resources?.requests ?? {}).filter(([type]) => type === 'memory' || type.startsWith('hugepages-'))
  return Object.fromEntries(requests.map(([type, amount]) => [type, wholeValueOf(amount)]))
}

function amountsOfPod({ spec }: V1Pod): Amounts {
  const lasting: Amounts = {}
  const sidecars: Amounts = {}
  const peak: Amounts = {}
  for (const init of spec.initContainers ?? []) {
    for (const [type, size] of Object.entries(amountsOf(init))) {
      if (isSidecar(init)) sidecars[type] = (sidecars[type] ?? 0) + size
      else peak[type] = Math.max(peak[type] ?? 0, (sidecars[type] ?? 0) + size)
    }
  }
  for (const container of spec.containers) {
    for (const [type, size] of Object.entries(amountsOf(container))) lasting[type] = (lasting[type] ?? 0) + size
  }
  return Object.fromEntries(Object.entries(lasting).map(([type, size]) => [type, Math.max(peak[type] ?? 0, size + (sidecars[type] ?? 0))]))
}

/** Of what a container has already: it stays where it is. */
function hintsAgain(blocks: readonly MemoryBlock[], wanted: Amounts): TopologyHints {
  const isSame = blocks.length === Object.keys(wanted).length && blocks.every(({ type, size }) => wanted[type] === size)
  if (!isSame) return {}
  return Object.fromEntries(blocks.map(({ type, numaAffinity }) => [type, [{ affinity: maskOf(numaAffinity), isPreferred: true }]]))
}

function bestOf(hints: readonly TopologyHint[]): TopologyHint | undefined {
  let best: TopologyHint | undefined
  for (const hint of hints) {
    if (best === undefined || (hint.isPreferred && !best.isPreferred)) best = hint
    else if (hint.isPreferred === best.isPreferred && isNarrower(hint.affinity ?? 0, best.affinity ?? 0)) best = hint
  }
  return best
}
