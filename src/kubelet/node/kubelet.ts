import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished, isTerminalPhase } from '#api/core/v1/pod/pod-state.ts'
import type { V1Node, V1Pod, V1PodStatus, V1ResourceStatus } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { type HookRunner, hookRunner } from '#kubelet/hooks/hook-runner.ts'
import { dependsOnNode, lackingResource, lacksResource, rejectionOf } from '#kubelet/node/admission.ts'
import { allocatedBefore, withResourcesOf } from '#kubelet/node/allocation.ts'
import type { KubeletOptions } from '#kubelet/node/kubelet-options.ts'
import { NodeLease } from '#kubelet/node/node-lease.ts'
import { nodeObject } from '#kubelet/node/node-object.ts'
import { NodeRegistration } from '#kubelet/node/node-registration.ts'
import { podsToPreempt } from '#kubelet/node/pods-to-preempt.ts'
import { Relist } from '#kubelet/node/relist.ts'
import { byUrgency } from '#kubelet/node/resize-urgency.ts'
import { forbiddenSysctl } from '#kubelet/node/sysctls.ts'
import type { Failure, Waiting } from '#kubelet/pod-worker/pod-steps.ts'
import { PodWorker } from '#kubelet/pod-worker/pod-worker.ts'
import { type PendingResize, resizeMessage } from '#kubelet/pod-worker/resize-progress.ts'
import { noRuntimeHelper } from '#kubelet/pod-worker/runtime-helper.ts'
import { MirrorPods } from '#kubelet/sources/mirror-pods.ts'
import { isMirror } from '#kubelet/sources/pod-source.ts'
import { StatusManager } from '#kubelet/status/status-manager.ts'

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
  /** Who waits for the ends of pods. */
  readonly #ending = new Map<string, () => void>()
  #relist: Relist | undefined
  #isStopped = false

  constructor(options: KubeletOptions) {
    this.#options = options
    const { client, clock, random, logger, pods, node, runtime, describe, makesNode, isPatient, staticPods } = options
    this.#statuses = new StatusManager({
      ...{ client, clock, logger, knownPod: (namespace, name) => pods.get(namespace, name) },
      onTold: (tookMs) => options.metrics?.told(tookMs),
    })
    this.#events = options.events ?? new EventRecorder({ client, clock, logger, component: 'kubelet', host: node.name })
    this.#hooks = options.hooks ?? hookRunner({ runtime, clock })
    this.#registration = new NodeRegistration({
      ...{ client, clock, random, logger, events: this.#events, node, runtime },
      ...defined({ describe, makesNode, isPatient, onNode: options.onNode, ...options.rhythm }),
      otherProblems: () => [...(this.#relist?.problems ?? []), ...(options.problems?.() ?? [])],
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
    const { client, clock, random, logger, pods, runtime, probes, staticPods = [] } = this.#options
    this.#statuses.start()
    this.#following.use(runtime.onEvent(({ podUid }) => this.#known.get(podUid)?.worker.look()))
    const onResult = probes.onResult?.((podUid) => this.#known.get(podUid)?.worker.look())
    if (onResult !== undefined) this.#following.use(onResult)
    for (const source of staticPods) {
      this.#following.use(source.follow({ onPod: (pod) => this.#seesStatic(pod), onPodGone: (pod) => this.#missesStatic(pod) }))
    }
    if (this.#options.isStandalone) {
      this.#beginTimers()
      return
    }
    for (const pod of this.#options.checkpointed ?? []) this.#sees(pod)
    const node = await this.#registration.start()
    if (this.#isStopped) return
    this.#lease = new NodeLease({
      ...{ client, clock, random, logger, node: this.name, ...defined({ durationSeconds: this.#options.rhythm?.leaseSeconds }) },
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
    this.#beginTimers()
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

  /** Ends a pod for a reason of the node's; resolves when nothing of it runs any more. */
  end(podUid: string, failure: Failure, graceMs: number): Promise<void> {
    const worker = this.#known.get(podUid)?.worker
    if (worker === undefined || worker.isDone) return Promise.resolve()
    const ended = new Promise<void>((resolve) => this.#ending.set(podUid, resolve))
    worker.disrupt(failure, graceMs)
    return ended
  }

  /** Looks at a pod again: something it has may have changed. */
  lookAt(podUid: string): void {
    this.#known.get(podUid)?.worker.look()
  }

  /** Looks at the node now instead of when it is time to. */
  checkNode(): void {
    this.#registration.checkNow()
  }

  /** Resolves when the events so far are written. */
  flushEvents(): Promise<void> {
    return this.#events.flush()
  }

  #beginTimers(): void {
    const { clock, relistMs, refreshMs } = this.#options
    if (relistMs !== undefined) this.#beginRelists(relistMs)
    if (refreshMs === undefined) return
    const timer = clock.every(refreshMs, () => {
      for (const { worker } of this.#known.values()) worker.refresh()
    })
    this.#following.use(timer)
  }

  #beginRelists(everyMs: number): void {
    const { clock, logger, runtime, runtimeHelper = noRuntimeHelper, metrics } = this.#options
    const relist = new Relist({
      ...{ clock, logger, runtime, runtimeHelper, everyMs },
      onRelist: (startedMs) => metrics?.relisted(startedMs, clock.now()),
      isKnown: (uid) => this.#known.has(uid) || this.#evaluating.has(uid),
      look: (uid) => this.#known.get(uid)?.worker.look(),
      known: () => this.#known.keys(),
    })
    relist.start()
    this.#relist = this.#following.use(relist)
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
    const seenMs = this.#options.clock.now()
    let rejection = wasValidated(pod) ? undefined : this.#rejection(pod, isStaticPod)
    const isUnsure = rejection !== undefined && dependsOnNode(rejection)
    const victims = rejection !== undefined && lacksResource(rejection) ? this.#victimsFor(pod) : []
    if (!isUnsure && victims.length === 0 && !this.#mustReserve(pod, rejection)) {
      this.#begin(pod, isStaticPod, rejection)
      this.#options.metrics?.began(this.#options.clock.now() - seenMs)
      return
    }
    this.#evaluating.set(uid, pod)
    if (isUnsure) {
      // Where the API server does not answer, the node as it was known decides.
      await this.#registration.refetch().catch(() => undefined)
      rejection = this.#rejection(this.#evaluating.get(uid) ?? pod, isStaticPod)
    }
    if (victims.length > 0) {
      await Promise.all(victims.map((victim) => this.#preempt(victim)))
      rejection = this.#rejection(this.#evaluating.get(uid) ?? pod, isStaticPod)
    }
    if (this.#mustReserve(pod, rejection)) rejection = await this.#reserve(pod)
    const latest = this.#evaluating.get(uid)
    this.#evaluating.delete(uid)
    if (this.#isStopped || latest === undefined) {
      await this.#options.resources?.release(uid)
      return
    }
    this.#begin(latest, isStaticPod, rejection)
    this.#options.metrics?.began(this.#options.clock.now() - seenMs)
    this.#options.resources?.settled(uid)
  }

  #victimsFor(pod: V1Pod): V1Pod[] {
    return podsToPreempt(pod, this.#othersThan(pod), this.#registration.description.allocatable) ?? []
  }

  /** Resolves when nothing of the pod runs any more. */
  #preempt(pod: V1Pod): Promise<void> {
    this.#events.warning(Pod, pod, preempted.reason, preempted.message)
    return this.end(pod.metadata.uid ?? '', preempted, (pod.spec.terminationGracePeriodSeconds ?? 30) * 1000)
  }

  #mustReserve(pod: V1Pod, rejection: Waiting | undefined): boolean {
    return rejection === undefined && !isPodFinished(pod) && (this.#options.resources?.concerns(pod) ?? false)
  }

  /** Gives the pod what it has for itself. One that runs already keeps what it has, and goes on whatever has become of that. */
  async #reserve(pod: V1Pod): Promise<Waiting | undefined> {
    const rejection = await this.#options.resources?.admit(pod)
    if (rejection === undefined || !wasValidated(pod)) return rejection
    this.#options.logger.warn('failed to give a running pod its resources again', { pod: nameOf(pod), ...rejection })
    return undefined
  }

  #rejection(pod: V1Pod, isStaticPod: boolean): Waiting | undefined {
    const { allocatable, info } = this.#registration.description
    const node = this.#registration.node ?? nodeObject(this.#registration.description)
    const admission = { node, allocatable, operatingSystem: info.operatingSystem, isStatic: isStaticPod }
    const { rejectionUnderPressure, allowedUnsafeSysctls = [] } = this.#options
    const forbidden = rejectionUnderPressure?.(pod) ?? forbiddenSysctl(pod, allowedUnsafeSysctls)
    return forbidden ?? rejectionOf(pod, { ...admission, others: this.#othersThan(pod) })
  }

  #othersThan(pod: V1Pod): V1Pod[] {
    const { uid } = pod.metadata
    const others: V1Pod[] = []
    // What the API has let go of counts no more: the scheduler has given its place away.
    for (const { wanted, worker } of this.#known.values())
      if (!worker.isRemoved && wanted.metadata.uid !== uid && !worker.isDone) others.push(worker.pod)
    // Those whose resources are being handed out have their place already.
    for (const coming of this.#evaluating.values()) if (coming.metadata.uid !== uid) others.push(coming)
    return others
  }

  #begin(pod: V1Pod, isStaticPod: boolean, rejection: Waiting | undefined): void {
    const { runtime, runtimeHelper = noRuntimeHelper, probes, clock, logger, node, resources } = this.#options
    const { uid = '' } = pod.metadata
    if (rejection !== undefined) {
      this.#options.metrics?.rejected(rejection.reason)
      this.#events.warning(Pod, pod, rejection.reason, rejection.message)
    }
    const allocated = allocatedBefore(pod)
    const worker = new PodWorker(allocated, {
      ...{ runtime, runtimeHelper, probes, hooks: this.#hooks, clock, logger, events: this.#events, hostIps: node.addresses },
      ...defined({ longestBackOffMs: this.#options.longestBackOffMs }),
      ...defined({ rejection, resourceHealth: resources && ((name: string) => this.#healthOf(uid, name)) }),
      onLooked: (operation, tookMs) => this.#options.metrics?.looked(operation, tookMs),
      report: (current, status, isOverNow) => this.#hears(current, status, isOverNow),
      onGone: () => this.#forgets(uid),
    })
    const known = { worker, wanted: pod, isStatic: isStaticPod }
    this.#known.set(uid, known)
    if (allocated === pod) worker.look()
    else this.#allocate(known)
  }

  #healthOf(uid: string, name: string): V1ResourceStatus[] {
    const { resources, claimHealthOf } = this.#options
    const pod = this.#known.get(uid)?.wanted
    const container = pod?.spec.containers.find((each) => each.name === name)
    const byClaims = pod && container && claimHealthOf ? claimHealthOf(pod, container) : []
    return [...(resources?.healthOf(uid, name) ?? []), ...byClaims]
  }

  #hears(pod: V1Pod, status: V1PodStatus, isOverNow: boolean): void {
    const { uid = '' } = pod.metadata
    this.#options.metrics?.hears(pod, this.#statuses.lastReported(uid) ?? pod.status, status, this.#options.clock.now())
    this.#statuses.tell(pod, status, isOverNow)
    if (isOverNow) {
      void this.#options.resources?.release(uid)
      this.#ending.get(uid)?.()
      this.#ending.delete(uid)
    }
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

  #retryResizes(): void {
    const pending = [...this.#pendingResizes].flatMap((uid) => this.#known.get(uid) ?? [])
    const resized = pending.map((known) => ({ known, wanted: known.wanted, allocated: known.worker.pod }))
    for (const { known } of resized.sort(byUrgency)) this.#allocate(known)
  }
}

const preempted: Failure = {
  ...{ reason: 'Preempting', message: 'Preempted in order to admit critical pod' },
  disruption: 'Pod was preempted by Kubelet to accommodate a critical pod.',
}

const wasValidated = ({ metadata, status }: V1Pod): boolean =>
  status?.startTime !== undefined || metadata.deletionTimestamp !== undefined || isTerminalPhase(status?.phase)
const nameOf = ({ metadata }: V1Pod): string => `${metadata.namespace}/${metadata.name}`
const hasSameName = (one: V1Pod, other: V1Pod): boolean => nameOf(one) === nameOf(other)
