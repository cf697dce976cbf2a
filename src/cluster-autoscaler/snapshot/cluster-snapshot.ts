import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import { type PodInfo, podInfoOf } from '#scheduler/cache/pod-info.ts'
import type { WatchedKind, WatchedObjects } from '#scheduler/cluster-objects.ts'
import { defaultConfiguration, type SchedulerConfiguration } from '#scheduler/config/configuration.ts'
import { Cycle } from '#scheduler/framework/cycle.ts'
import type { SchedulerClient } from '#scheduler/framework/plugin-handle.ts'
import type { Profile } from '#scheduler/framework/profile.ts'
import { failed, type Status } from '#scheduler/framework/status.ts'
import { Scheduler } from '#scheduler/scheduler.ts'

export type ClusterSnapshotOptions = { clock: Clock; random: Random; configuration?: SchedulerConfiguration }

type Change = (scheduler: Scheduler) => void

/** Work is done in turns of about so long. */
const turnMs = 8

/**
 * The cluster as the scheduler would see it, to try things on: nodes come and go, pods are placed by the scheduler's own
 * plugins, and all of it is taken back at the end. What the API server tells meanwhile waits until `catchUp`.
 */
export class ClusterSnapshot {
  readonly #scheduler: Scheduler
  readonly #clock: Clock
  /** What has been told since the last `catchUp`. */
  #news: Change[] = []
  /** Pods that have no node. */
  readonly #waiting = new Map<string, V1Pod>()
  /** How each step of the trial is taken back, the last one first. */
  readonly #undo: (() => void)[] = []
  /** A search begins where the last one ended, so that pods are spread over nodes as they would be. */
  #nextIndex = 0

  constructor({ clock, random, configuration = defaultConfiguration() }: ClusterSnapshotOptions) {
    this.#clock = clock
    this.#scheduler = new Scheduler({ client: readOnly, clock, random, logger: silentLogger, configuration })
  }

  observe<Kind extends WatchedKind>(kind: Kind, before: WatchedObjects[Kind] | undefined, after: WatchedObjects[Kind] | undefined): void {
    this.#news.push((scheduler) => scheduler.observe(kind, before, after))
    if (kind === 'Pod') this.#news.push(() => this.#noteWaiting((after ?? before) as V1Pod, after !== undefined))
  }

  #noteWaiting(pod: V1Pod, isThere: boolean): void {
    const uid = pod.metadata.uid ?? ''
    if (isThere && !pod.spec.nodeName) this.#waiting.set(uid, pod)
    else this.#waiting.delete(uid)
  }

  get waitingPods(): Iterable<V1Pod> {
    return this.#waiting.values()
  }

  /** Takes in what was told; no trial may be under way. */
  async catchUp(): Promise<void> {
    const news = this.#news
    this.#news = []
    for (const change of news) {
      change(this.#scheduler)
      if (this.isLong) await this.giveWay()
    }
  }

  /** Whether others in this process have waited for long enough. */
  get isLong(): boolean {
    return this.#clock.heldMs() > turnMs
  }

  /** Lets them have their turn: a snapshot does not change meanwhile. */
  giveWay(): Promise<void> {
    return new Promise((resolve) => this.#clock.soon(resolve))
  }

  get nodes(): readonly NodeInfo[] {
    return this.#scheduler.cache.nodes
  }

  node(name: string): NodeInfo | undefined {
    return this.#scheduler.cache.node(name)
  }

  objects<Kind extends WatchedKind>(kind: Kind): WatchedObjects[Kind][] {
    return [...this.#scheduler.objects.of(kind).values()]
  }

  object<Kind extends WatchedKind>(kind: Kind, namespace: string, name: string): WatchedObjects[Kind] | undefined {
    return this.#scheduler.objects.of(kind).get(namespace, name)
  }

  /** Whatever is done inside is undone at the end. */
  trial<T>(work: () => T): T {
    const mark = this.#undo.length
    try {
      return work()
    } finally {
      this.undoTo(mark)
    }
  }

  /** For trials that last longer than a function: `undoTo(mark())`. */
  mark(): number {
    return this.#undo.length
  }

  undoTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()?.()
  }

  addNode(node: V1Node, pods: readonly PodInfo[] = []): void {
    const { cache } = this.#scheduler
    const name = node.metadata.name ?? ''
    cache.setNode(node)
    this.#undo.push(() => cache.removeNode(name))
    for (const pod of pods) this.#put(pod, name)
  }

  removeNode(name: string): void {
    const { cache } = this.#scheduler
    const node = cache.node(name)?.node
    if (node === undefined) return
    cache.removeNode(name)
    this.#undo.push(() => cache.setNode(node))
  }

  removePod({ uid }: PodInfo): void {
    const { cache } = this.#scheduler
    const known = cache.pod(uid)
    if (known === undefined) return
    cache.removePod(uid)
    this.#undo.push(() => cache.setPod(known))
  }

  #put(pod: PodInfo, nodeName: string): void {
    const { cache } = this.#scheduler
    cache.assume(pod, nodeName)
    this.#undo.push(() => cache.removePod(pod.uid))
  }

  /** Why the pod may not run there; undefined when it may. */
  refusal(pod: PodInfo, nodeName: string): Status | undefined {
    const node = this.node(nodeName)
    if (node === undefined) return failed(new Error(`node ${nodeName} is not known`))
    const prepared = this.#prepare(pod)
    if ('refused' in prepared) return prepared.refused
    return prepared.accepts(nodeName)
      ? prepared.profile.filterWithNominated(prepared.cycle, node)
      : failed(new Error('the pod asks for other nodes'))
  }

  /** Puts the pod there when it may run there, and says why otherwise. */
  place(pod: PodInfo, nodeName: string): Status | undefined {
    const refused = this.refusal(pod, nodeName)
    if (refused === undefined) this.#put(pod, nodeName)
    return refused
  }

  /** Puts the pod on some node where it may run; gives back its name. */
  placeAnywhere(pod: PodInfo, isAcceptable: (node: NodeInfo) => boolean): string | undefined {
    const prepared = this.#prepare(pod)
    if ('refused' in prepared) return undefined
    const { nodes } = this
    for (let step = 0; step < nodes.length; step++) {
      const index = (this.#nextIndex + step) % nodes.length
      const node = nodes[index] as NodeInfo
      if (!isAcceptable(node) || !prepared.accepts(node.name)) continue
      if (prepared.profile.filterWithNominated(prepared.cycle, node) !== undefined) continue
      this.#nextIndex = index
      this.#put(pod, node.name)
      return node.name
    }
    return undefined
  }

  #prepare(pod: PodInfo): { refused: Status } | { profile: Profile; cycle: Cycle; accepts(nodeName: string): boolean } {
    const profile = this.#profileOf(pod.pod)
    if (profile === undefined) return { refused: failed(new Error('there is no scheduler profile')) }
    const cycle = new Cycle(pod)
    const { refused, nodeNames } = profile.preFilter(cycle)
    if (refused !== undefined) return { refused }
    return { profile, cycle, accepts: (nodeName) => nodeNames === undefined || nodeNames.has(nodeName) }
  }

  /** Pods of other schedulers are taken to be placed as ours would. */
  #profileOf({ spec }: V1Pod): Profile | undefined {
    const { profiles } = this.#scheduler
    return profiles.get(spec.schedulerName ?? '') ?? [...profiles.values()][0]
  }

  close(): void {
    this.#scheduler.queue.close()
  }
}

/** The pod as one that has no node. */
export function unplaced(info: PodInfo): PodInfo {
  const { nodeName: _, ...spec } = info.pod.spec
  return podInfoOf({ ...info.pod, spec })
}

const refuse = () => Promise.reject(new Error('a simulation changes nothing'))
const readOnly: SchedulerClient = {
  bind: refuse,
  patchPodStatus: refuse,
  deletePod: refuse,
  updateVolume: refuse,
  updateClaim: refuse,
  updateResourceClaim: refuse,
  updateResourceClaimStatus: refuse,
  removeReservation: refuse,
  recordEvent() {},
  isNotFound: () => false,
}
