import type { Labels } from '#api/meta/label-requirement.ts'

/** What counts by topology need to know of the nodes. */
export type Topology = {
  /** Grows whenever a node comes, goes, or changes its labels. */
  readonly generation: number
  labelsOf(nodeName: string): Labels | undefined
}

/** How many of something there are on each node, and summed up by the value of a node label. */
export class NodeCounts {
  readonly perNode = new Map<string, number>()
  readonly #topology: Topology
  readonly #sums = new Map<string, { generation: number; byValue: Map<string, number> }>()

  constructor(topology: Topology) {
    this.#topology = topology
  }

  get isEmpty(): boolean {
    return this.perNode.size === 0
  }

  add(nodeName: string, by: number): void {
    const { perNode } = this
    addTo(perNode, nodeName, by)
    for (const [key, { byValue }] of this.#sums) {
      const value = this.#topology.labelsOf(nodeName)?.[key]
      if (value !== undefined) addTo(byValue, value, by)
    }
  }

  /** By the values of the label that nodes with a count have; kept up to date, so not to be held on to. */
  byTopology(key: string): ReadonlyMap<string, number> {
    const { generation } = this.#topology
    const known = this.#sums.get(key)
    if (known?.generation === generation) return known.byValue
    const byValue = new Map<string, number>()
    for (const [nodeName, count] of this.perNode) {
      const value = this.#topology.labelsOf(nodeName)?.[key]
      if (value !== undefined) addTo(byValue, value, count)
    }
    this.#sums.set(key, { generation, byValue })
    return byValue
  }
}

export function addTo(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

/** Counts by topology value that can be changed in copies without copying what they share. */
export class TopologyTally {
  readonly key: string
  readonly #shared: readonly ReadonlyMap<string, number>[]
  readonly #own: Map<string, number>

  constructor(key: string, shared: readonly ReadonlyMap<string, number>[], own: Map<string, number> = new Map()) {
    this.key = key
    this.#shared = shared
    this.#own = own
  }

  at(value: string): number {
    let count = this.#own.size === 0 ? 0 : (this.#own.get(value) ?? 0)
    for (const counts of this.#shared) count += counts.get(value) ?? 0
    return count
  }

  add(value: string, by: number): void {
    addTo(this.#own, value, by)
  }

  /** Whether nothing is counted anywhere. */
  get isEmpty(): boolean {
    if (this.#own.size === 0) return this.#shared.every((counts) => counts.size === 0)
    for (const counts of this.#shared) for (const value of counts.keys()) if (this.at(value) > 0) return false
    for (const value of this.#own.keys()) if (this.at(value) > 0) return false
    return true
  }

  clone(): TopologyTally {
    return new TopologyTally(this.key, this.#shared, new Map(this.#own))
  }
}
