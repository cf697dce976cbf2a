import type { LabelSelector } from '#api/meta/selector.ts'
import { NodeCounts, type Topology } from '#scheduler/cache/node-counts.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'

export type PodQuery = {
  readonly namespaces: ReadonlySet<string> | 'all'
  readonly selectors: readonly LabelSelector[]
  readonly countsTerminating: boolean
}

type Placed = { readonly info: PodInfo; readonly nodeName: string }
type Counter = { readonly id: string; readonly query: PodQuery; readonly counts: NodeCounts; readonly bucketKey: string | undefined }
type Bucket = { readonly pods: Map<string, Placed>; readonly counters: Set<Counter> }

/** More selectors than this are live at once only when each pod has its own; then remembering them does not pay. */
const countersMax = 4096

/**
 * Answers where pods that match a selector run, for selectors that are asked about again and again: the first question
 * counts, later ones read what every pod that came or went has kept right. Pods are found by one `label=value` the
 * selector demands, so that neither the first count nor the upkeep looks at unrelated pods.
 */
export class PodIndex {
  readonly #topology: Topology
  readonly #placed = new Map<string, Placed>()
  /** Label keys that some selector asked for; only these are indexed. */
  readonly #indexedKeys = new Set<string>()
  readonly #buckets = new Map<string, Bucket>()
  readonly #counters = new Map<string, Counter>()
  /** Counters whose selector demands no certain value of any label. */
  readonly #loose = new Set<Counter>()

  constructor(topology: Topology) {
    this.#topology = topology
  }

  add(info: PodInfo, nodeName: string): void {
    const placed = { info, nodeName }
    this.#placed.set(info.uid, placed)
    for (const bucketKey of this.#bucketKeys(info)) {
      const bucket = this.#bucket(bucketKey)
      bucket.pods.set(info.uid, placed)
      for (const counter of bucket.counters) if (matches(counter.query, info)) counter.counts.add(nodeName, 1)
    }
    for (const counter of this.#loose) if (matches(counter.query, info)) counter.counts.add(nodeName, 1)
  }

  remove(uid: string): void {
    const placed = this.#placed.get(uid)
    if (placed === undefined) return
    const { info, nodeName } = placed
    this.#placed.delete(uid)
    for (const bucketKey of this.#bucketKeys(info)) {
      const bucket = this.#buckets.get(bucketKey)
      if (bucket === undefined) continue
      bucket.pods.delete(uid)
      for (const counter of bucket.counters) if (matches(counter.query, info)) counter.counts.add(nodeName, -1)
      if (bucket.pods.size === 0 && bucket.counters.size === 0) this.#buckets.delete(bucketKey)
    }
    for (const counter of this.#loose) if (matches(counter.query, info)) counter.counts.add(nodeName, -1)
  }

  /** Pods that match all selectors, by node. */
  counts(query: PodQuery): NodeCounts {
    const id = queryId(query)
    const known = this.#counters.get(id)
    if (known !== undefined) {
      this.#counters.delete(id)
      this.#counters.set(id, known)
      return known.counts
    }
    const counter = this.#newCounter(id, query)
    this.#counters.set(id, counter)
    if (this.#counters.size > countersMax) this.#forgetOldest()
    return counter.counts
  }

  #newCounter(id: string, query: PodQuery): Counter {
    const anchor = anchorOf(query.selectors)
    const counts = new NodeCounts(this.#topology)
    if (anchor === undefined) {
      const counter = { id, query, counts, bucketKey: undefined }
      for (const { info, nodeName } of this.#placed.values()) if (matches(query, info)) counts.add(nodeName, 1)
      this.#loose.add(counter)
      return counter
    }
    this.#indexBy(anchor.key)
    const bucketKey = `${anchor.key}\u0000${anchor.value}`
    const counter = { id, query, counts, bucketKey }
    const bucket = this.#bucket(bucketKey)
    for (const { info, nodeName } of bucket.pods.values()) if (matches(query, info)) counts.add(nodeName, 1)
    bucket.counters.add(counter)
    return counter
  }

  #forgetOldest(): void {
    const [oldest] = this.#counters.values()
    if (oldest === undefined) return
    this.#counters.delete(oldest.id)
    this.#loose.delete(oldest)
    if (oldest.bucketKey !== undefined) this.#buckets.get(oldest.bucketKey)?.counters.delete(oldest)
  }

  #indexBy(key: string): void {
    if (this.#indexedKeys.has(key)) return
    this.#indexedKeys.add(key)
    for (const placed of this.#placed.values()) {
      const value = placed.info.pod.metadata.labels?.[key]
      if (value !== undefined) this.#bucket(`${key}\u0000${value}`).pods.set(placed.info.uid, placed)
    }
  }

  *#bucketKeys({ pod }: PodInfo): Iterable<string> {
    const { labels } = pod.metadata
    if (labels === undefined || this.#indexedKeys.size === 0) return
    for (const key in labels) if (this.#indexedKeys.has(key)) yield `${key}\u0000${labels[key]}`
  }

  #bucket(key: string): Bucket {
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      bucket = { pods: new Map(), counters: new Set() }
      this.#buckets.set(key, bucket)
    }
    return bucket
  }
}

function matches({ namespaces, selectors, countsTerminating }: PodQuery, info: PodInfo): boolean {
  if (info.isTerminating && !countsTerminating) return false
  if (namespaces !== 'all' && !namespaces.has(info.namespace)) return false
  for (const selector of selectors) if (!selector.matches(info.pod.metadata.labels)) return false
  return true
}

function queryId({ namespaces, selectors, countsTerminating }: PodQuery): string {
  const where = namespaces === 'all' ? '*' : namespaces.size === 1 ? [...namespaces][0] : [...namespaces].sort().join(',')
  // A selector for nothing and one for everything print the same.
  const what = selectors.map((each) => (each.isEmpty ? '*' : each.toString())).join('\u0000')
  return `${where}\u0000${what}\u0000${countsTerminating ? 't' : ''}`
}

/** A `key=value` that whatever is selected must have. */
export function anchorOf(selectors: readonly LabelSelector[]): { key: string; value: string } | undefined {
  for (const { requirements } of selectors) {
    for (const { key, operator, values } of requirements) {
      const [value] = values
      if (value !== undefined && values.length === 1 && (operator === '=' || operator === '==' || operator === 'in')) return { key, value }
    }
  }
  return undefined
}
