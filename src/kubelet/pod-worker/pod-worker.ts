import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished, isTerminalPhase } from '#api/core/v1/pod/pod-state.ts'
import { podQosClass } from '#api/core/v1/resources.ts'
import type { V1Container, V1Pod, V1PodStatus, V1ResourceStatus } from '#api/core/v1/types.gen.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Logger } from '#base/log.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { type EventRecorder, referenceTo } from '#client/events/event-recorder.ts'
import type { HookRunner } from '#kubelet/hooks/hook-runner.ts'
import type { PodOperation } from '#kubelet/metrics/pod-metrics.ts'
import { concernsNode } from '#kubelet/pod-worker/concerns-node.ts'
import { ContainerStarter } from '#kubelet/pod-worker/container-starter.ts'
import { ContainerStopper } from '#kubelet/pod-worker/container-stopper.ts'
import { withEviction } from '#kubelet/pod-worker/eviction-condition.ts'
import { isMidway } from '#kubelet/pod-worker/midway-status.ts'
import { nextSteps, podText } from '#kubelet/pod-worker/next-steps.ts'
import { PodResizer } from '#kubelet/pod-worker/pod-resizer.ts'
import { podStatus } from '#kubelet/pod-worker/pod-status.ts'
import type { Failure, NextSteps, PodStep, Waiting, WorkerMemory } from '#kubelet/pod-worker/pod-steps.ts'
import { type PendingResize, ResizeProgress } from '#kubelet/pod-worker/resize-progress.ts'
import type { RuntimeHelper } from '#kubelet/pod-worker/runtime-helper.ts'
import type { PodProbes } from '#kubelet/probes/pod-probes.ts'
import type { ObservedPod, Runtime } from '#kubelet/runtimes/runtime.ts'

export type PodWorkerOptions = {
  runtime: Runtime
  runtimeHelper: RuntimeHelper
  probes: PodProbes
  hooks: HookRunner
  clock: Clock
  logger: Logger
  events: EventRecorder
  hostIps: readonly string[]
  /** The node does not take the pod: it fails at once. */
  rejection?: Waiting
  /** What ends again and again is started again after this long at the latest. */
  longestBackOffMs?: number
  /** How the devices of a container are; absent where it can have none. */
  resourceHealth?: (container: string) => V1ResourceStatus[]
  /** Hears of every look at the pod. `isOver`: no container runs, and none will. */
  report(pod: V1Pod, status: V1PodStatus, isOver: boolean): void
  /** Hears how long every look took. */
  onLooked?(operation: PodOperation, tookMs: number): void
  /** The pod is gone from the API, and nothing is left of it here. */
  onGone(): void
}

const retryMs = 10_000
const evictionGraceMs = 1000

/**
 * Brings one pod, step by step, to where it shall be.
 *
 * It looks when something has happened (to the pod, to its containers) or a wait is over, never twice at once; what takes long
 * (starting, stopping) goes on meanwhile and is looked at again when done.
 */
export class PodWorker {
  readonly #options: PodWorkerOptions
  readonly #starter: ContainerStarter
  readonly #stopper: ContainerStopper
  readonly #resize: ResizeProgress
  readonly #resizer: PodResizer
  #pod: V1Pod
  #isRemoved = false
  #status: V1PodStatus | undefined
  #told: V1PodStatus | undefined
  #ip = ''
  #endsByMs: number | undefined
  #failure: Failure | undefined
  #evictedMs: number | undefined
  #wake: { atMs: number; timer: Timer } | undefined
  #isLooking = false
  #mustLookAgain = false
  #isStopped = false

  constructor(pod: V1Pod, options: PodWorkerOptions) {
    this.#pod = pod
    this.#options = options
    const { runtime, runtimeHelper, hooks, clock, logger, events } = options
    const shared = { runtime, hooks, clock, logger, tell: this.#tell.bind(this), onChange: () => this.look() }
    this.#stopper = new ContainerStopper(shared)
    this.#starter = new ContainerStarter({
      ...shared,
      runtimeHelper,
      tellOfPod: (type, reason, message) => events.record(Pod, this.#pod, type, reason, message),
      kill: (id, container, message) => this.#kill(id, container, message),
    })
    this.#resize = new ResizeProgress(pod.status ?? {}, {
      tell: (type, reason, message) => events.record(Pod, this.#pod, type, reason, message),
      clock,
    })
    this.#resizer = new PodResizer(pod, { runtime, starter: this.#starter, progress: this.#resize })
    this.#failure = options.rejection
  }

  /** The pod with the resources the node has allocated to it. */
  get pod(): V1Pod {
    return this.#pod
  }

  /** What was told last. */
  get status(): V1PodStatus | undefined {
    return this.#status
  }

  /** Nothing of it takes up resources any more. */
  get isDone(): boolean {
    return isTerminalPhase(this.#status?.phase) || isPodFinished(this.#pod)
  }

  /** The API has it no more, though something of it may still run here. */
  get isRemoved(): boolean {
    return this.#isRemoved
  }

  /** The pod as the API has it now, but for resources that the node has not allocated (yet). */
  update(pod: V1Pod, pending?: PendingResize): void {
    const isSame = this.#pod === pod
    const isForUs =
      this.#status === undefined || this.#resize.pending !== undefined || pending !== undefined || concernsNode(this.#pod, pod)
    this.#pod = pod
    this.#resize.pending = pending
    if (!isForUs) return
    if (!isSame) this.refresh()
    this.look()
  }

  /** The node has allocated other resources than the containers have. */
  resizeBegins(): void {
    this.#resize.begin(this.#pod)
    this.look()
  }

  /** Brings files up to date that mirror objects of the API. */
  refresh(): void {
    const { runtimeHelper, logger } = this.#options
    if (this.#status === undefined || this.#endsByMs !== undefined || this.isDone) return
    runtimeHelper.refresh(this.#pod).catch((error: unknown) => {
      logger.debug('failed to update mounted volumes of pod', { pod: podText(this.#pod.metadata), error: String(error) })
    })
  }

  /** The node cannot keep it: it fails, with so much time to end. */
  evict(message: string, graceMs = evictionGraceMs): void {
    if (this.#failure !== undefined || this.isDone) return
    this.#options.events.warning(Pod, this.#pod, 'Evicted', message)
    this.disrupt({ reason: 'Evicted', message }, graceMs)
  }

  /** The node does not go on with it, for this reason. */
  disrupt(failure: Failure, graceMs: number): void {
    if (this.#failure !== undefined || this.isDone) return
    const { clock } = this.#options
    this.#failure = failure
    this.#evictedMs = clock.now()
    this.#endsByMs = Math.min(this.#endsByMs ?? Number.POSITIVE_INFINITY, this.#evictedMs + graceMs)
    this.look()
  }

  /** The API has it no more. */
  remove(): void {
    this.#isRemoved = true
    this.look()
  }

  look(): void {
    if (this.#isStopped) return
    if (this.#isLooking) {
      this.#mustLookAgain = true
      return
    }
    this.#isLooking = true
    void this.#lookUntilQuiet().finally(() => {
      this.#isLooking = false
      if (this.#mustLookAgain) this.look()
    })
  }

  /** Leaves containers as they are. */
  stop(): void {
    this.#isStopped = true
    this.#wake?.timer.cancel()
    this.#starter.abort('the kubelet stops')
    this.#stopper.abandon()
  }

  async #lookUntilQuiet(): Promise<void> {
    do {
      this.#mustLookAgain = false
      const startedMs = this.#options.clock.now()
      const isFirst = this.#status === undefined
      try {
        if (this.#options.rejection !== undefined) this.#reject(this.#options.rejection)
        else await this.#lookOnce()
      } catch (error) {
        this.#options.logger.warn('failed to sync pod', { pod: podText(this.#pod.metadata), error: String(error) })
        this.#wakeAt(this.#options.clock.now() + retryMs)
      }
      const operation = this.#endsByMs !== undefined ? 'kill' : isFirst ? 'create' : 'sync'
      this.#options.onLooked?.(operation, this.#options.clock.now() - startedMs)
    } while (this.#mustLookAgain && !this.#isStopped)
  }

  async #lookOnce(): Promise<void> {
    const { runtime, probes, clock, report } = this.#options
    const wasStarting = this.#starter.isStarting
    const observed = await runtime.observe(this.#pod.metadata.uid ?? '')
    // What a start has brought about meanwhile may not have been seen: the look that follows it will.
    const isStarting = wasStarting || this.#starter.isStarting
    const pod = this.#pod
    const nowMs = clock.now()
    this.#stopper.forgetEnded(observed)
    if (!isStarting) this.#starter.forgetGone(observed)
    this.#decideEnd(pod, nowMs)
    this.#ip = observed.sandboxes.find(({ isReady }) => isReady)?.ips[0] ?? ''
    // Probes first: what they do not know yet of a new container must not be taken for their result.
    const isEnding = this.#endsByMs !== undefined
    probes.follow?.({ pod, observed, ip: this.#probedIp(pod), isEnding })
    const next = nextSteps(pod, observed, this.#memory(nowMs, isStarting), probes)
    if (next.isOver && next.steps.length > 0) {
      // One status tells of the end, when the sandbox is gone as well.
      for (const step of next.steps) await this.#take(step)
      this.#mustLookAgain = true
      return
    }
    this.#resize.update(pod, next.isResizing)
    const status = this.#statusOf(pod, observed, next, nowMs)
    this.#tellOfBackOffs(pod, next)
    const isOnTheWay = (isStarting || next.steps.some(isStart)) && isMidway(this.#told, status)
    this.#status = status
    // The API lets go of a deleted pod once it hears of the end: by then nothing is left of it.
    if (next.isOver && pod.metadata.deletionTimestamp !== undefined) await this.#options.runtimeHelper.finish?.(pod)
    if (!this.#isRemoved && !isOnTheWay) {
      this.#told = status
      report(pod, status, next.isOver)
    }
    if (next.isOver && this.#isRemoved) {
      await this.#forgetContainers(observed)
      return
    }
    if (next.isOver) await this.#options.runtimeHelper.finish?.(pod)
    for (const step of next.steps) await this.#take(step)
    this.#wakeAt(earliest(next.wakeAtMs, isEnding ? undefined : this.#deadlineMs(pod)))
  }

  #memory(nowMs: number, isStarting: boolean): WorkerMemory {
    const { backOffs, failures, images, actuated } = this.#starter
    const previous = this.#status ?? this.#pod.status
    return {
      ...{ nowMs, isStarting, backOffs, failures, images, actuated, stopping: this.#stopper.stopping },
      podResources: this.#resizer.podResources,
      ...defined({ endsByMs: this.#endsByMs, previous, resizeRetryAtMs: this.#resize.retryAtMs }),
      ...defined({ longestBackOffMs: this.#options.longestBackOffMs }),
    }
  }

  #statusOf(pod: V1Pod, observed: ObservedPod, { waiting, isOver, isRestartingAll }: NextSteps, nowMs: number): V1PodStatus {
    const { probes, hostIps } = this.#options
    const { hooking } = this.#starter
    const status = podStatus(pod, {
      ...{ observed, probes, waiting, nowMs, hostIps, isOver, hooking },
      previous: this.#status ?? pod.status ?? {},
      isEnding: this.#endsByMs !== undefined,
      resize: isOver ? {} : this.#resize.conditions,
      ...defined({ isRestartingAll, failure: this.#failure, resourceHealth: this.#options.resourceHealth }),
    })
    return this.#evictedMs === undefined ? status : withEviction(status, this.#failure, formatTime(this.#evictedMs))
  }

  #decideEnd(pod: V1Pod, nowMs: number): void {
    const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata
    const isDeleting = deletionTimestamp !== undefined || this.#isRemoved
    const deadlineMs = this.#deadlineMs(pod)
    if (!isDeleting && !isPodFinished(pod) && deadlineMs !== undefined && deadlineMs <= nowMs && !isTerminalPhase(this.#status?.phase)) {
      const message = 'Pod was active on the node longer than the specified deadline'
      if (this.#failure === undefined) this.#options.events.normal(Pod, pod, 'DeadlineExceeded', message)
      this.#failure = { reason: 'DeadlineExceeded', message }
    }
    if (!isDeleting && !isPodFinished(pod) && this.#failure === undefined) return
    const graceSeconds = (isDeleting ? deletionGracePeriodSeconds : undefined) ?? pod.spec.terminationGracePeriodSeconds ?? 30
    const byMs = nowMs + Math.max(1, graceSeconds) * 1000
    if (this.#endsByMs === undefined || byMs < this.#endsByMs) this.#endsByMs = byMs
    this.#starter.abort('the pod ends')
  }

  /** A pod the node does not take: it has failed before it began. */
  #reject({ reason, message }: Waiting): void {
    const { clock, report } = this.#options
    const pod = this.#pod
    this.#status ??= {
      ...omitEmpty({ observedGeneration: pod.metadata.generation }),
      ...{ phase: 'Failed', reason, message: `Pod was rejected: ${message}` },
      startTime: pod.status?.startTime ?? formatTime(clock.now()),
      qosClass: podQosClass(pod),
    }
    if (!this.#isRemoved) report(pod, this.#status, true)
    else this.#isGone()
  }

  #deadlineMs({ spec, status }: V1Pod): number | undefined {
    const startTime = this.#status?.startTime ?? status?.startTime
    if (!spec.activeDeadlineSeconds || !startTime) return undefined
    return parseTime(startTime) + spec.activeDeadlineSeconds * 1000
  }

  async #take(step: PodStep): Promise<void> {
    const { runtime } = this.#options
    switch (step.do) {
      case 'runSandbox':
        this.#resizer.begins(this.#pod)
        return this.#starter.runSandbox(this.#pod, step)
      case 'startContainer':
        return this.#starter.startContainer(this.#pod, step)
      case 'prepareStop':
        return this.#stopper.prepare(this.#pod, step, this.#probedIp(this.#pod))
      case 'stopContainer':
        return this.#stopper.stop(step)
      case 'resizeContainer':
      case 'resizePod':
        await this.#resizer.take(this.#pod, step)
        this.#mustLookAgain = true
        return
      case 'stopSandbox':
        return runtime.stopSandbox(step.id)
      case 'removeSandbox':
        return runtime.removeSandbox(step.id)
      case 'removeContainer':
        await runtime.removeContainer(step.id)
        // What was removed may have been in the way of something.
        this.#mustLookAgain = true
    }
  }

  /** Ends one container of a pod that goes on. */
  #kill(id: string, container: V1Container, message: string): void {
    const { name } = container
    const graceMs = (this.#pod.spec.terminationGracePeriodSeconds ?? 30) * 1000
    const step = { id, name, message, untilMs: this.#options.clock.now() + graceMs, comesBack: false }
    const handler = container.lifecycle?.preStop
    if (!handler) this.#stopper.stop({ do: 'stopContainer', ...step })
    else this.#stopper.prepare(this.#pod, { do: 'prepareStop', ...step, hook: { handler, container } }, this.#probedIp(this.#pod))
  }

  #probedIp({ spec }: V1Pod): string {
    return spec.hostNetwork ? (this.#options.hostIps[0] ?? '') : this.#ip
  }

  #tellOfBackOffs(pod: V1Pod, { waiting }: NextSteps): void {
    const { initContainerStatuses = [], containerStatuses = [] } = this.#status ?? {}
    for (const [name, { reason }] of waiting) {
      if (reason !== 'CrashLoopBackOff') continue
      const before = [...initContainerStatuses, ...containerStatuses].find((status) => status.name === name)
      if (before?.state?.waiting?.reason === reason) continue
      this.#tell(name, 'Warning', 'BackOff', `Back-off restarting failed container ${name} in pod ${podText(pod.metadata)}`)
    }
  }

  #tell(container: string, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { events } = this.#options
    events.recordFor({ ...referenceTo(Pod, this.#pod), fieldPath: fieldPathOf(this.#pod, container) }, type, reason, message)
  }

  async #forgetContainers({ containers, sandboxes }: ObservedPod): Promise<void> {
    const { runtime, runtimeHelper } = this.#options
    for (const { id } of containers) await runtime.removeContainer(id)
    for (const { id } of sandboxes) await runtime.removeSandbox(id)
    await runtimeHelper.cleanUp(this.#pod)
    this.#isGone()
  }

  #isGone(): void {
    this.stop()
    this.#options.probes.forget?.(this.#pod.metadata.uid ?? '')
    this.#options.onGone()
  }

  #wakeAt(atMs: number | undefined): void {
    if (this.#wake?.atMs === atMs) return
    this.#wake?.timer.cancel()
    this.#wake = undefined
    if (atMs === undefined || this.#isStopped) return
    const timer = this.#options.clock.after(Math.max(0, atMs - this.#options.clock.now()), () => {
      this.#wake = undefined
      this.look()
    })
    this.#wake = { atMs, timer }
  }
}

/** What events about a container refer to. */
export function fieldPathOf({ spec }: V1Pod, container: string): string {
  const isIn = (list: readonly V1Container[] = []) => list.some(({ name }) => name === container)
  const list = isIn(spec.initContainers) ? 'initContainers' : isIn(spec.ephemeralContainers) ? 'ephemeralContainers' : 'containers'
  return `spec.${list}{${container}}`
}

const isStart = ({ do: what }: PodStep): boolean => what === 'runSandbox' || what === 'startContainer'

function earliest(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined ? right : right === undefined ? left : Math.min(left, right)
}
