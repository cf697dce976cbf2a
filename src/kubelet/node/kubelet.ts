import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished, isTerminalPhase } from '#api/core/v1/pod/pod-state.ts'
import { podQosClass, podRequests } from '#api/core/v1/resources.ts'
import type { V1Node, V1Pod, V1PodStatus } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { type HookRunner, hookRunner } from '#kubelet/hooks/hook-runner.ts'
import { dependsOnNode, lackingResource, rejectionOf } from '#kubelet/node/admission.ts'
import { allocatedBefore, withResourcesOf } from '#kubelet/node/allocation.ts'
import { NodeLease } from '#kubelet/node/node-lease.ts'
import { type NodeDescription, nodeObject } from '#kubelet/node/node-object.ts'
import { NodeRegistration } from '#kubelet/node/node-registration.ts'
import { Relist } from '#kubelet/node/relist.ts'
import type { Waiting } from '#kubelet/pod-worker/pod-steps.ts'
import { PodWorker } from '#kubelet/pod-worker/pod-worker.ts'
import { type PendingResize, resizeMessage } from '#kubelet/pod-worker/resize-progress.ts'
import { noRuntimeHelper, type RuntimeHelper } from '#kubelet/pod-worker/runtime-helper.ts'
import type { PodProbes } from '#kubelet/probes/pod-probes.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'
import { MirrorPods } from '#kubelet/sources/mirror-pods.ts'
import { isMirror, type PodSource, type StaticPodSource } from '#kubelet/sources/pod-source.ts'
import { StatusManager } from '#kubelet/status/status-manager.ts'

export type KubeletOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  node: NodeDescription
  /** Looks at the machine again, so that the API is told what has changed; absent where nothing does. */
  describe?: () => Promise<NodeDescription>
  runtime: Runtime
  runtimeHelper?: RuntimeHelper
  probes: PodProbes
  hooks?: HookRunner
  /** One of its own where absent. */
  events?: EventRecorder
  /** The API's pods; started before the agent is. */
  pods: PodSource
  /** Started before the agent is. */
  staticPods?: readonly StaticPodSource[]
  /** Why the node takes no such pod while it has too little of something. */
  rejectionUnderPressure?: (pod: V1Pod) => Waiting | undefined
  makesNode?: boolean
  /** Goes on trying to register while the API server does not answer; static pods run meanwhile. */
  isPatient?: boolean
  /** How often to look for what events of the runtime have missed; absent where they miss nothing. */
  relistMs?: number
  /** How often files that mirror objects are brought up to date; absent where there are none. */
  refreshMs?: number
}

type Known = { worker: PodWorker; wanted: V1Pod; isStatic: boolean }

/** One node: it registers, shows that it lives, and runs the pods that are bound to it. */
export class Kubelet {
  readonly #options: KubeletOptions
  readonly #statuses: StatusManager
  readonly #events: EventRecorder
  readonly #hooks: HookRunner
  readonly #registration: NodeRegistration
  readonly #mirrors: MirrorPods | undefined
  readonly #known = new Map<string, Known>()
  /** Static pods that wait for one of their name to end. */
  readonly #successors = new Map<string, V1Pod>()
  readonly #pendingResizes = new Set<string>()
  /** Pods on which the API must be asked for the node as it is now, as they were last seen. */
  readonly #evaluating = new Map<string, V1Pod>()
  readonly #following = new DisposableStack()
  #lease: NodeLease | undefined
  #isStopped = false

  constructor(options: KubeletOptions) {
    this.#options = options
    const { client, clock, random, logger, pods, node, runtime, describe, makesNode, isPatient, staticPods } = options
    this.#statuses = new StatusManager({ client, clock, logger, knownPod: (namespace, name) => pods.get(namespace, name) })
    this.#events = options.events ?? new EventRecorder({ client, clock, logger, component: 'kubelet', host: node.name })
    this.#hooks = options.hooks ?? hookRunner({ runtime, clock })
    this.#registration = new NodeRegistration({
      ...{ client, clock, random, logger, events: this.#events, node, runtime },
      ...defined({ describe, makesNode, isPatient }),
    })
    if (staticPods !== undefined) {
      this.#mirrors = new MirrorPods({
        ...{ client, clock, logger, node: node.name },
        nodeUid: () => this.#registration.node?.metadata?.uid,
        onMirror: (uid) => this.#statuses.again(uid),
      })
    }
  }

  get name(): string {
    return this.#options.node.name
  }
  get node(): V1Node | undefined {
    return this.#registration.node
  }
  get events(): EventRecorder {
    return this.#events
  }

  /** The pods of this node, each with the latest status. */
  get pods(): V1Pod[] {
    return [...this.#known.values()].map(({ wanted, worker }) => ({ ...wanted, status: worker.status ?? wanted.status ?? {} }))
  }

  /** Resolves when the node is registered and looks after its pods. */
  async start(): Promise<void> {
    const { client, clock, random, logger, pods, runtime, probes, staticPods = [], relistMs, refreshMs } = this.#options
    this.#statuses.start()
    this.#following.use(runtime.onEvent(({ podUid }) => this.#known.get(podUid)?.worker.look()))
    const onResult = probes.onResult?.((podUid) => this.#known.get(podUid)?.worker.look())
    if (onResult !== undefined) this.#following.use(onResult)
    for (const source of staticPods) {
      this.#following.use(source.follow({ onPod: (pod) => this.#seesStatic(pod), onPodGone: (pod) => this.#missesStatic(pod) }))
    }
    const node = await this.#registration.start()
    if (this.#isStopped) return
    this.#lease = new NodeLease({
      ...{ client, clock, random, logger, node: this.name },
      nodeUid: () => (this.node ?? node).metadata?.uid ?? '',
    })
    await this.#lease.start()
    // What the API does not know is ended: it must have had its say.
    await pods.ready
    if (this.#isStopped) return
    const present: V1Pod[] = []
    let take = (pod: V1Pod): void => void present.push(pod)
    this.#following.use(pods.follow(this.name, { onPod: (pod) => take(pod), onPodGone: (pod) => this.#misses(pod) }))
    take = (pod) => this.#sees(pod)
    // Those that run already have their place before others are validated.
    for (const pod of [...present.filter(wasValidated), ...present.filter((each) => !wasValidated(each))]) this.#sees(pod)
    this.#mirrors?.start()
    if (relistMs !== undefined) this.#beginRelists(relistMs)
    if (refreshMs !== undefined) {
      const timer = clock.every(refreshMs, () => {
        for (const { worker } of this.#known.values()) worker.refresh()
      })
      this.#following.use(timer)
    }
  }

  /** Leaves the pods running, and the node as it is. */
  stop(): void {
    this.#isStopped = true
    this.#following.dispose()
    this.#registration.stop()
    this.#mirrors?.stop()
    this.#lease?.stop()
    for (const { worker } of this.#known.values()) worker.stop()
    this.#statuses.stop()
  }

  /** Ends a pod that has taken more than it may have, or that the node cannot keep. */
  evict(podUid: string, message: string, graceMs?: number): void {
    this.#known.get(podUid)?.worker.evict(message, graceMs)
  }

  /** Looks at the node now instead of when it is time to. */
  checkNode(): void {
    this.#registration.checkNow()
  }

  /** Resolves when the events so far are written. */
  flushEvents(): Promise<void> {
    return this.#events.flush()
  }

  #beginRelists(everyMs: number): void {
    const { clock, logger, runtime, runtimeHelper = noRuntimeHelper } = this.#options
    const relist = new Relist({
      ...{ clock, logger, runtime, runtimeHelper, everyMs },
      isKnown: (uid) => this.#known.has(uid) || this.#evaluating.has(uid),
      look: (uid) => this.#known.get(uid)?.worker.look(),
      known: () => this.#known.keys(),
    })
    relist.start()
    this.#following.use(relist)
  }

  #sees(pod: V1Pod): void {
    if (isMirror(pod)) {
      this.#mirrors?.sees(pod)
      return
    }
    const known = this.#known.get(pod.metadata.uid ?? '')
    if (known === undefined) {
      void this.#admit(pod, false)
      return
    }
    known.wanted = pod
    this.#statuses.compare(pod)
    this.#allocate(known)
  }

  #misses(pod: V1Pod): void {
    if (isMirror(pod)) {
      this.#mirrors?.misses(pod)
      return
    }
    const { uid = '' } = pod.metadata
    this.#evaluating.delete(uid)
    this.#statuses.forget(uid)
    this.#known.get(uid)?.worker.remove()
  }

  #seesStatic(pod: V1Pod): void {
    this.#mirrors?.want(pod)
    const before = [...this.#known.values()].find((known) => known.isStatic && hasSameName(known.wanted, pod))
    if (before === undefined) void this.#admit(pod, true)
    else if (before.wanted.metadata.uid !== pod.metadata.uid) this.#successors.set(nameOf(pod), pod)
  }

  #missesStatic(pod: V1Pod): void {
    this.#mirrors?.release(pod)
    if (this.#successors.get(nameOf(pod))?.metadata.uid === pod.metadata.uid) this.#successors.delete(nameOf(pod))
    this.#evaluating.delete(pod.metadata.uid ?? '')
    this.#known.get(pod.metadata.uid ?? '')?.worker.remove()
  }

  /** A pod that is new here. One that was here already when the agent started is not validated again: it has been. */
  async #admit(pod: V1Pod, isStaticPod: boolean): Promise<void> {
    const { uid = '' } = pod.metadata
    if (this.#evaluating.has(uid)) {
      this.#evaluating.set(uid, pod)
      return
    }
    const rejection = wasValidated(pod) ? undefined : this.#rejection(pod, isStaticPod)
    if (rejection === undefined || !dependsOnNode(rejection)) {
      this.#begin(pod, isStaticPod, rejection)
      return
    }
    this.#evaluating.set(uid, pod)
    await this.#registration.refetch().catch(() => undefined)
    const latest = this.#evaluating.get(uid)
    this.#evaluating.delete(uid)
    if (this.#isStopped || latest === undefined) return
    this.#begin(latest, isStaticPod, this.#rejection(latest, isStaticPod))
  }

  #rejection(pod: V1Pod, isStaticPod: boolean): Waiting | undefined {
    const { allocatable, info } = this.#registration.description
    const node = this.#registration.node ?? nodeObject(this.#registration.description)
    const admission = { node, allocatable, operatingSystem: info.operatingSystem, isStatic: isStaticPod }
    return this.#options.rejectionUnderPressure?.(pod) ?? rejectionOf(pod, { ...admission, others: this.#othersThan(pod) })
  }

  #othersThan(pod: V1Pod): V1Pod[] {
    return [...this.#known.values()]
      .filter(({ wanted, worker }) => wanted.metadata.uid !== pod.metadata.uid && !worker.isDone)
      .map(({ worker }) => worker.pod)
  }

  #begin(pod: V1Pod, isStaticPod: boolean, rejection: Waiting | undefined): void {
    const { runtime, runtimeHelper = noRuntimeHelper, probes, clock, logger, node } = this.#options
    const { uid = '' } = pod.metadata
    if (rejection !== undefined) this.#events.warning(Pod, pod, rejection.reason, rejection.message)
    const allocated = allocatedBefore(pod)
    const worker = new PodWorker(allocated, {
      ...{ runtime, runtimeHelper, probes, hooks: this.#hooks, clock, logger, events: this.#events, hostIps: node.addresses },
      ...defined({ rejection }),
      report: (current, status, isOverNow) => this.#hears(current, status, isOverNow),
      onGone: () => this.#forgets(uid),
    })
    const known = { worker, wanted: pod, isStatic: isStaticPod }
    this.#known.set(uid, known)
    if (allocated === pod) worker.look()
    else this.#allocate(known)
  }

  #hears(pod: V1Pod, status: V1PodStatus, isOverNow: boolean): void {
    this.#statuses.tell(pod, status, isOverNow)
    if (isOverNow && this.#pendingResizes.size > 0) this.#retryResizes()
  }

  #forgets(uid: string): void {
    const known = this.#known.get(uid)
    this.#known.delete(uid)
    this.#pendingResizes.delete(uid)
    if (known === undefined) return
    const successor = known.isStatic ? this.#successors.get(nameOf(known.wanted)) : undefined
    if (successor !== undefined) {
      this.#successors.delete(nameOf(successor))
      this.#statuses.forget(uid)
      void this.#admit(successor, true)
    }
    this.#retryResizes()
  }

  /** Gives a pod the resources it asks for now, where there is room; else it keeps what it has, and waits. */
  #allocate(known: Known): void {
    const { wanted, worker } = known
    const { uid = '', generation = 0 } = wanted.metadata
    const kept = withResourcesOf(wanted, worker.pod)
    const wasPending = this.#pendingResizes.delete(uid)
    if (kept === wanted || isPodFinished(wanted)) {
      worker.update(wanted)
      return
    }
    const { allocatable } = this.#registration.description
    const lacking = lackingResource(wanted, { allocatable, others: this.#othersThan(wanted) })
    if (lacking === undefined) {
      worker.update(wanted)
      worker.resizeBegins()
      this.#events.normal(Pod, wanted, 'ResizeStarted', resizeMessage('Pod resize started', wanted, generation))
      return
    }
    const pending: PendingResize = { reason: 'Deferred', message: lacking.message, generation }
    const isNew = !wasPending || worker.pod.metadata.generation !== generation
    this.#pendingResizes.add(uid)
    worker.update(kept, pending)
    if (isNew) {
      this.#events.warning(Pod, wanted, 'ResizeDeferred', resizeMessage('Pod resize Deferred', wanted, generation, lacking.message))
    }
  }

  /** Those that ask for less first, then the more important ones. */
  #retryResizes(): void {
    const pending = [...this.#pendingResizes].flatMap((uid) => this.#known.get(uid) ?? [])
    for (const known of pending.sort(byUrgency)) this.#allocate(known)
  }
}

const wasValidated = ({ metadata, status }: V1Pod): boolean =>
  status?.startTime !== undefined || metadata.deletionTimestamp !== undefined || isTerminalPhase(status?.phase)
const nameOf = ({ metadata }: V1Pod): string => `${metadata.namespace}/${metadata.name}`
const hasSameName = (one: V1Pod, other: V1Pod): boolean => nameOf(one) === nameOf(other)

function byUrgency(one: Known, other: Known): number {
  const rank = ({ wanted, worker }: Known) => {
    const asks = podRequests(wanted.spec)
    const has = podRequests(worker.pod.spec)
    const isMore = ['cpu', 'memory'].some((name) => (asks[name]?.toNumber() ?? 0) > (has[name]?.toNumber() ?? 0))
    return [isMore ? 1 : 0, -(wanted.spec.priority ?? 0), podQosClass(wanted) === 'Guaranteed' ? 0 : 1]
  }
  const [left, right] = [rank(one), rank(other)]
  return left.map((value, index) => value - (right[index] ?? 0)).find((difference) => difference !== 0) ?? 0
}
