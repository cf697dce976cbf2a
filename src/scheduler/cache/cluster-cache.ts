import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { addTo, type Topology } from '#scheduler/cache/node-counts.ts'
import { NodeInfo } from '#scheduler/cache/node-info.ts'
import { interleavedByZone, zoneOf } from '#scheduler/cache/node-tree.ts'
import { PodIndex } from '#scheduler/cache/pod-index.ts'
import { type PodInfo, placedOn } from '#scheduler/cache/pod-info.ts'
import { TermIndex } from '#scheduler/cache/term-index.ts'

/**
 * The nodes and the pods on them, as the scheduler believes they are: what the API server told, and on top of it the pods
 * that were given a node but are not known to be bound yet (assumed).
 *
 * A scheduling cycle runs to its end without giving way to anybody, so it reads the cache itself: a snapshot costs
 * nothing, and an event costs what it changed.
 */
export class ClusterCache {
  readonly #nodes = new Map<string, NodeInfo>()
  /** All pods with a node, by uid; those whose node is not known are counted nowhere. */
  readonly #pods = new Map<string, PodInfo>()
  readonly #assumed = new Set<string>()
  /** Pods whose node is not known, by its name. */
  readonly #orphans = new Map<string, Set<string>>()
  #ordered: NodeInfo[] | undefined
  #topologyGeneration = 0
  readonly #topologyValues = new Map<string, { generation: number; values: ReadonlySet<string> }>()

  readonly topology: Topology
  readonly pods: PodIndex
  readonly requiredTerms: TermIndex
  readonly requiredAntiTerms: TermIndex
  readonly preferredTerms: TermIndex
  readonly preferredAntiTerms: TermIndex
  /** On how many nodes an image is. */
  readonly imageNodes = new Map<string, number>()
  /** How many placed pods use a claim, by `namespace/name`. */
  readonly claimUsers = new Map<string, number>()

  constructor() {
    const nodes = this.#nodes
    const generation = () => this.#topologyGeneration
    this.topology = {
      get generation() {
        return generation()
      },
      labelsOf: (nodeName) => nodes.get(nodeName)?.labels,
    }
    this.pods = new PodIndex(this.topology)
    this.requiredTerms = new TermIndex(this.topology)
    this.requiredAntiTerms = new TermIndex(this.topology)
    this.preferredTerms = new TermIndex(this.topology)
    this.preferredAntiTerms = new TermIndex(this.topology)
  }

  /** In the order in which they are searched: zones take turns. */
  get nodes(): readonly NodeInfo[] {
    this.#ordered ??= interleavedByZone(this.#nodes.values())
    return this.#ordered
  }

  node(name: string): NodeInfo | undefined {
    return this.#nodes.get(name)
  }

  pod(uid: string): PodInfo | undefined {
    return this.#pods.get(uid)
  }

  isAssumed(uid: string): boolean {
    return this.#assumed.has(uid)
  }

  get sizes(): { nodes: number; pods: number; assumed: number } {
    return { nodes: this.#nodes.size, pods: this.#pods.size, assumed: this.#assumed.size }
  }

  /** The values nodes have for the label. */
  topologyValues(key: string): ReadonlySet<string> {
    const known = this.#topologyValues.get(key)
    if (known?.generation === this.#topologyGeneration) return known.values
    const values = new Set<string>()
    for (const { labels } of this.#nodes.values()) if (labels[key] !== undefined) values.add(labels[key])
    this.#topologyValues.set(key, { generation: this.#topologyGeneration, values })
    return values
  }

  setNode(node: V1Node): NodeInfo {
    const known = this.#nodes.get(node.metadata.name ?? '')
    if (known === undefined) return this.#addNode(node)
    this.#countImages(known, -1)
    if (zoneOf(known.node) !== zoneOf(node)) this.#ordered = undefined
    if (!sameLabels(known.labels, node.metadata.labels ?? {})) this.#topologyGeneration++
    known.setNode(node)
    this.#countImages(known, 1)
    return known
  }

  #addNode(node: V1Node): NodeInfo {
    const info = new NodeInfo(node)
    this.#nodes.set(info.name, info)
    this.#ordered = undefined
    this.#topologyGeneration++
    this.#countImages(info, 1)
    for (const uid of this.#orphans.get(info.name) ?? []) {
      const pod = this.#pods.get(uid)
      if (pod !== undefined) this.#place(pod, info)
    }
    this.#orphans.delete(info.name)
    return info
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name)
    if (info === undefined) return
    for (const pod of [...info.pods]) {
      this.#displace(pod, info)
      this.#orphan(pod.uid, name)
    }
    this.#countImages(info, -1)
    this.#nodes.delete(name)
    this.#ordered = undefined
    this.#topologyGeneration++
  }

  /** A pod that has a node: one just bound, or one whose binding we only assumed so far, or a newer version of either. */
  setPod(info: PodInfo): void {
    this.removePod(info.uid)
    this.#pods.set(info.uid, info)
    const nodeName = info.pod.spec.nodeName ?? ''
    const node = this.#nodes.get(nodeName)
    if (node === undefined) this.#orphan(info.uid, nodeName)
    else this.#place(info, node)
  }

  /** A newer version of a pod that differs in its status alone. */
  refreshPod(uid: string, pod: V1Pod): void {
    const known = this.#pods.get(uid)
    if (known !== undefined) known.pod = pod
  }

  removePod(uid: string): void {
    const known = this.#pods.get(uid)
    if (known === undefined) return
    this.#pods.delete(uid)
    this.#assumed.delete(uid)
    const nodeName = known.pod.spec.nodeName ?? ''
    const node = this.#nodes.get(nodeName)
    if (node !== undefined) {
      this.#displace(known, node)
      return
    }
    const orphans = this.#orphans.get(nodeName)
    orphans?.delete(uid)
    if (orphans?.size === 0) this.#orphans.delete(nodeName)
  }

  /** Takes the pod to run on the node from now on; gives back the pod as it is taken to be. */
  assume(info: PodInfo, nodeName: string): PodInfo {
    if (this.#pods.has(info.uid)) throw new Error(`pod ${info.uid}(${info.namespace}/${info.name}) is in the cache, so can't be assumed`)
    if (!this.#nodes.has(nodeName)) throw new Error(`node ${nodeName} is gone`)
    const placed = placedOn(info, nodeName)
    this.setPod(placed)
    this.#assumed.add(info.uid)
    return placed
  }

  /** Takes back an assumption; does nothing once the pod is known to be bound. */
  forget(uid: string): boolean {
    if (!this.#assumed.has(uid)) return false
    this.removePod(uid)
    return true
  }

  #orphan(uid: string, nodeName: string): void {
    const orphans = this.#orphans.get(nodeName)
    if (orphans === undefined) this.#orphans.set(nodeName, new Set([uid]))
    else orphans.add(uid)
  }

  #place(info: PodInfo, node: NodeInfo): void {
    node.addPod(info)
    this.pods.add(info, node.name)
    this.#countTerms(info, node.name, 1)
    this.#countClaims(info, 1)
  }

  #displace(info: PodInfo, node: NodeInfo): void {
    node.removePod(info)
    this.pods.remove(info.uid)
    this.#countTerms(info, node.name, -1)
    this.#countClaims(info, -1)
  }

  #countTerms({ terms }: PodInfo, nodeName: string, by: 1 | -1): void {
    this.requiredTerms.add(terms.required, nodeName, by)
    this.requiredAntiTerms.add(terms.requiredAnti, nodeName, by)
    this.preferredTerms.add(terms.preferred, nodeName, by)
    this.preferredAntiTerms.add(terms.preferredAnti, nodeName, by)
  }

  #countClaims({ pod, namespace }: PodInfo, by: 1 | -1): void {
    for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
      if (persistentVolumeClaim) addTo(this.claimUsers, `${namespace}/${persistentVolumeClaim.claimName}`, by)
    }
  }

  #countImages({ imageSizes }: NodeInfo, by: 1 | -1): void {
    for (const name of imageSizes.keys()) addTo(this.imageNodes, name, by)
  }
}

function sameLabels(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  if (one === other) return true
  const keys = Object.keys(one)
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key])
}
