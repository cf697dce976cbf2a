import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Labels } from '#api/meta/label-requirement.ts'
import { nothing } from '#api/meta/selector.ts'
import { type AffinityTerm, termMatches } from '#scheduler/cache/affinity-terms.ts'
import { NodeCounts, type Topology } from '#scheduler/cache/node-counts.ts'
import { anchorOf } from '#scheduler/cache/pod-index.ts'

/** Pods that carry one and the same term, by node: those of one Deployment do. */
export type TermGroup = { readonly term: AffinityTerm; readonly weight: number; readonly counts: NodeCounts; readonly id: string }

/**
 * The affinity terms of all placed pods, found by the labels of a pod they may be about: whom do the pods that are
 * already there reject or attract?
 */
export class TermIndex {
  readonly #topology: Topology
  readonly #groups = new Map<string, TermGroup>()
  readonly #byAnchor = new Map<string, Set<TermGroup>>()
  readonly #loose = new Set<TermGroup>()

  constructor(topology: Topology) {
    this.#topology = topology
  }

  get isEmpty(): boolean {
    return this.#groups.size === 0
  }

  add(terms: readonly (AffinityTerm & { weight?: number })[], nodeName: string, by: 1 | -1): void {
    for (const term of terms) {
      const group = this.#group(term)
      group.counts.add(nodeName, by)
      if (group.counts.isEmpty) this.#forget(group)
    }
  }

  /** The groups whose term matches the pod. */
  matching(pod: V1Pod, namespaceLabels: Labels | undefined): TermGroup[] {
    const found: TermGroup[] = []
    if (this.#groups.size === 0) return found
    const { labels } = pod.metadata
    for (const key in labels) {
      for (const group of this.#byAnchor.get(`${key}\u0000${labels[key]}`) ?? []) {
        if (termMatches(group.term, pod, namespaceLabels)) found.push(group)
      }
    }
    for (const group of this.#loose) if (termMatches(group.term, pod, namespaceLabels)) found.push(group)
    return found
  }

  #group(term: AffinityTerm & { weight?: number }): TermGroup {
    const id = termId(term)
    let group = this.#groups.get(id)
    if (group === undefined) {
      group = { term, weight: term.weight ?? 0, counts: new NodeCounts(this.#topology), id }
      this.#groups.set(id, group)
      this.#home(group).add(group)
    }
    return group
  }

  #forget(group: TermGroup): void {
    this.#groups.delete(group.id)
    this.#home(group).delete(group)
    const anchor = anchorOf([group.term.selector])
    if (anchor !== undefined && this.#home(group).size === 0) this.#byAnchor.delete(`${anchor.key}\u0000${anchor.value}`)
  }

  #home(group: TermGroup): Set<TermGroup> {
    const anchor = anchorOf([group.term.selector])
    if (anchor === undefined) return this.#loose
    const key = `${anchor.key}\u0000${anchor.value}`
    let home = this.#byAnchor.get(key)
    if (home === undefined) {
      home = new Set()
      this.#byAnchor.set(key, home)
    }
    return home
  }
}

function termId({ topologyKey, selector, namespaces, namespaceSelector, weight }: AffinityTerm & { weight?: number }): string {
  const where = namespaces.size === 1 ? [...namespaces][0] : [...namespaces].sort().join(',')
  const whereElse = namespaceSelector === nothing ? '-' : namespaceSelector.toString()
  const what = selector === nothing ? '-' : selector.toString()
  return `${topologyKey}\u0000${what}\u0000${where}\u0000${whereElse}\u0000${weight ?? ''}`
}
