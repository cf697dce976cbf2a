import type { V1Pod, V1PodCondition } from '#api/core/v1/types.gen.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { findCondition, isSameCondition } from '#api/meta/find-condition.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Logger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import type { Random } from '#base/random.ts'
import { bindPod } from '#scheduler/binding-cycle.ts'
import { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import { ClusterFeed } from '#scheduler/cluster-feed.ts'
import { ClusterObjects, type WatchedKind, type WatchedObjects } from '#scheduler/cluster-objects.ts'
import { profilesOf, type SchedulerConfiguration } from '#scheduler/config/configuration.ts'
import { type IsEnabled, sightOf } from '#scheduler/config/feature-gates.ts'
import type { Extender } from '#scheduler/extender/extender.ts'
import { on, type RetryOn } from '#scheduler/framework/cluster-event.ts'
import { Cycle } from '#scheduler/framework/cycle.ts'
import { Diagnosis, FitError, noNodesMessage } from '#scheduler/framework/fit-error.ts'
import type { PluginHandle, PodStatusPatch, SchedulerClient } from '#scheduler/framework/plugin-handle.ts'
import type { Profile } from '#scheduler/framework/profile.ts'
import { failed, isRejected, messageOf, type Status } from '#scheduler/framework/status.ts'
import { WaitingPods } from '#scheduler/framework/waiting-pods.ts'
import { schedulerMetrics } from '#scheduler/metrics.ts'
import { NodeSearch, type Placement } from '#scheduler/node-search.ts'
import { Nominator } from '#scheduler/queue/nominator.ts'
import type { QueuedPod } from '#scheduler/queue/queued-pod.ts'
import { SchedulingQueue } from '#scheduler/queue/scheduling-queue.ts'

export type SchedulerOptions = {
  client: SchedulerClient
  clock: Clock
  random: Random
  logger: Logger
  configuration: SchedulerConfiguration
  metrics?: Metrics
  extenders?: readonly Extender[]
  /** Whether a feature gate is on; absent: as upstream has it. */
  isEnabled?: IsEnabled
}

/** After this many pods in a row others in the process get their turn. */
const podsPerTurn = 32
/** And after so long. */
const turnMs = 8
/** Of so many attempts in a hundred each plugin's share is measured. */
const sampledPercentage = 10
/** An event note may be this long. */
const noteMax = 1024

export class Scheduler {
  readonly cache = new ClusterCache()
  readonly objects = new ClusterObjects()
  readonly queue: SchedulingQueue
  readonly profiles: ReadonlyMap<string, Profile>
  readonly nominator = new Nominator()
  readonly waiting: WaitingPods
  readonly #options: SchedulerOptions & { extenders: readonly Extender[]; isEnabled: IsEnabled }
  readonly #sight: ReturnType<typeof sightOf>
  readonly #metrics
  readonly #feed: ClusterFeed
  readonly #search: NodeSearch
  /** Pods whose binding is under way. */
  readonly #binding = new Map<string, QueuedPod>()
  readonly #changeListeners = new Set<(kind: WatchedKind) => void>()

  constructor(options: SchedulerOptions) {
    const isEnabled = options.isEnabled ?? new FeatureGates().isEnabled
    this.#options = { ...options, extenders: options.extenders ?? [], isEnabled }
    this.#sight = sightOf(isEnabled)
    const { clock, random, configuration } = options
    const { extenders } = this.#options
    this.#metrics = schedulerMetrics(options.metrics ?? new Metrics())
    this.waiting = new WaitingPods(clock)
    this.profiles = profilesOf(configuration, this.#handle(), this.nominator)
    this.#search = new NodeSearch({
      cache: this.cache,
      random,
      extenders,
      percentageOfNodesToScore: configuration.percentageOfNodesToScore,
    })
    const sort = [...this.profiles.values()][0]?.points.queueSort[0]
    this.queue = new SchedulingQueue({
      clock,
      compare: (one, other) => sort?.compare?.(one, other) ?? 0,
      preEnqueue: (info) => this.#profileOf(info.pod)?.preEnqueue(info),
      retryOn: this.#retryOn(),
      initialBackoffMs: configuration.podInitialBackoffSeconds * 1000,
      maxBackoffMs: configuration.podMaxBackoffSeconds * 1000,
      ...defined({ maxUnschedulableMs: configuration.podMaxUnschedulableMs }),
      popsFromBackoff: isEnabled('SchedulerPopFromBackoffQ'),
      onQueued: (queue, event) => this.#metrics.incomingPods.inc({ queue, event }),
      onHint: (plugin, event, hint, seconds) => this.#metrics.hintDuration.observe(seconds, { plugin, event, hint }),
    })
    this.#feed = new ClusterFeed({
      cache: this.cache,
      objects: this.objects,
      queue: this.queue,
      nominator: this.nominator,
      binding: this.#binding,
      isOurs: (schedulerName) => this.profiles.has(schedulerName),
      onPodGone: (uid) => this.waiting.reject(uid, '', 'the pod is gone'),
    })
    this.#metrics.measurePending(() => this.queue.sizes)
    this.#metrics.measureUnschedulable(() => this.queue.rejections())
    this.#metrics.measureCache(() => this.cache.sizes)
    this.#metrics.measureInFlight(() => this.queue.eventsInFlight())
    this.#metrics.measureEvaluations(() => this.#evaluations())
  }

  observe<Kind extends WatchedKind>(kind: Kind, before: WatchedObjects[Kind] | undefined, after: WatchedObjects[Kind] | undefined): void {
    const startMs = this.#options.clock.monotonic()
    const event = this.#feed.observe(kind, this.#sight(kind, before), this.#sight(kind, after))
    this.#metrics.eventDuration.observe(this.#secondsSince(startMs), { event })
    if (this.#changeListeners.size > 0) for (const listener of [...this.#changeListeners]) listener(kind)
  }

  /** Places pods until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    signal.addEventListener('abort', () => this.queue.close(), { once: true })
    while (!signal.aborted) {
      await this.queue.wait()
      for (let count = 1; !signal.aborted; count++) {
        const queued = this.queue.pop()
        if (queued === undefined) break
        const attempt = this.schedule(queued)
        if (attempt !== undefined) await attempt
        if (count % podsPerTurn === 0 || clock.heldMs() > turnMs) await new Promise<void>((resolve) => clock.soon(resolve))
      }
    }
  }

  /** One attempt. A promise only when extenders or preemption have to be waited for; binding goes on by itself. */
  schedule(queued: QueuedPod): Promise<void> | undefined {
    const { info } = queued
    const profile = this.#profileOf(info.pod)
    if (profile === undefined || this.#isSkipped(queued, profile)) {
      this.queue.done(info.uid)
      return undefined
    }
    const startMs = this.#options.clock.monotonic()
    const cycle = new Cycle(info, this.#options.random.int(100) < sampledPercentage)
    try {
      if (this.cache.nodes.length === 0) throw noNodes()
      const placement = this.#search.place(profile, cycle)
      if (!(placement instanceof Promise)) return this.#reserve(queued, profile, cycle, placement, startMs)
      return placement.then(
        (found) => this.#reserve(queued, profile, cycle, found, startMs),
        (error: unknown) => this.#explainFailure(queued, profile, cycle, error, startMs),
      )
    } catch (error) {
      return this.#explainFailure(queued, profile, cycle, error, startMs)
    }
  }

  #reserve(queued: QueuedPod, profile: Profile, cycle: Cycle, { nodeName }: Placement, startMs: number): undefined {
    this.#metrics.algorithmDuration.observe(this.#secondsSince(startMs))
    try {
      const assumed = this.cache.assume(queued.info, nodeName)
      this.nominator.withdraw(assumed.uid)
      this.#binding.set(assumed.uid, queued)
      void bindPod({ queued, assumed, cycle, profile, nodeName, startMs }, this.#bindingRoom())
    } catch (error) {
      this.fail(queued, profile, failed(error), '', startMs)
    }
    return undefined
  }

  #bindingRoom() {
    const { client, logger, extenders, clock, isEnabled } = this.#options
    const { cache, queue, waiting } = this
    return {
      client,
      logger,
      extenders,
      clock,
      cache,
      queue,
      waiting,
      binding: this.#binding,
      announcesNode: isEnabled('NominatedNodeNameForExpectation'),
      metrics: this.#metrics,
      fail: this.fail.bind(this),
    }
  }

  async #explainFailure(queued: QueuedPod, profile: Profile, cycle: Cycle, error: unknown, startMs: number): Promise<void> {
    this.#metrics.algorithmDuration.observe(this.#secondsSince(startMs))
    if (!(error instanceof FitError) || error.diagnosis.plugins.has(noNodesMessage)) {
      const status: Status = error instanceof FitError ? rejectionOf(error, noNodesMessage) : failed(error)
      this.fail(queued, profile, status, '', startMs, error instanceof FitError ? error.diagnosis : undefined)
      return
    }
    const { diagnosis } = error
    const { nominatedNode, status } = await profile.postFilter(cycle, diagnosis)
    diagnosis.postFilterMessage = messageOf(status)
    this.fail(queued, profile, rejectionOf(error, error.message), nominatedNode, startMs, diagnosis)
  }

  /** Puts the pod back and tells why. `nominatedNode`: where it is promised room, '' for nowhere, undefined for as before. */
  fail(
    queued: QueuedPod,
    profile: Profile,
    status: Status,
    nominatedNode: string | undefined,
    startMs: number,
    diagnosis?: Diagnosis,
  ): void {
    const { client, logger } = this.#options
    const isUnschedulable = isRejected(status)
    const labels = { profile: profile.schedulerName, result: isUnschedulable ? 'unschedulable' : 'error' }
    this.#metrics.attempts.inc(labels)
    this.#metrics.attemptDuration.observe(this.#secondsSince(startMs), labels)
    if (queued.place !== 'in-flight') return
    queued.rejectedBy = new Set(diagnosis?.plugins)
    queued.pendingFor = new Set(diagnosis?.pendingPlugins)
    const { info } = queued
    const message = messageOf(status)
    if (!isUnschedulable)
      logger.error('error scheduling pod, retrying', { pod: `${info.namespace}/${info.name}`, error: messageOf(status) })
    if (nominatedNode !== undefined) this.nominator.nominate(info, nominatedNode)
    this.queue.requeue(queued)
    client.recordEvent({
      regarding: info.pod,
      type: 'Warning',
      reason: 'FailedScheduling',
      action: 'Scheduling',
      note: message.length <= noteMax ? message : `${message.slice(0, noteMax - 4)} ...`,
      reportingController: profile.schedulerName,
    })
    const condition = { type: 'PodScheduled', status: 'False', reason: isUnschedulable ? 'Unschedulable' : 'SchedulerError', message }
    this.#patchStatus(info.pod, condition, nominatedNode)
  }

  #patchStatus(pod: V1Pod, condition: V1PodCondition, nominatedNode: string | undefined): void {
    const isKnown = isSameCondition(findCondition(pod.status?.conditions, condition.type), condition)
    const isMoved = nominatedNode !== undefined && nominatedNode !== (pod.status?.nominatedNodeName ?? '')
    if (isKnown && !isMoved) return
    const patch: PodStatusPatch = { condition, ...defined({ nominatedNodeName: isMoved ? nominatedNode : undefined }) }
    const { client, logger } = this.#options
    client.patchPodStatus(pod, patch).catch((error: unknown) => {
      if (!client.isNotFound(error))
        logger.error('failed to update PodScheduled condition', { pod: pod.metadata.name, error: String(error) })
    })
  }

  #isSkipped({ info }: QueuedPod, profile: Profile): boolean {
    if (!info.isTerminating) return this.cache.isAssumed(info.uid)
    const note = `skip schedule deleting pod: ${info.namespace}/${info.name}`
    const { schedulerName: reportingController } = profile
    this.#options.client.recordEvent({
      regarding: info.pod,
      type: 'Warning',
      reason: 'FailedScheduling',
      action: 'Scheduling',
      note,
      reportingController,
    })
    return true
  }

  #profileOf(pod: V1Pod): Profile | undefined {
    return this.profiles.get(pod.spec.schedulerName ?? '')
  }

  #secondsSince(startMs: number): number {
    return (this.#options.clock.monotonic() - startMs) / 1000
  }

  *#evaluations() {
    for (const { metrics } of this.profiles.values()) yield* metrics.evaluations()
  }

  #retryOn(): ReadonlyMap<string, readonly RetryOn[]> {
    const retryOn = new Map<string, readonly RetryOn[]>([[noNodesMessage, [on.node.added]]])
    for (const { points } of this.profiles.values()) {
      const plugins = [...points.preEnqueue, ...points.preFilter, ...points.filter, ...points.reserve, ...points.permit]
      for (const plugin of plugins) if (plugin.retryOn !== undefined) retryOn.set(plugin.name, plugin.retryOn)
    }
    return retryOn
  }

  #handle(): Omit<PluginHandle, 'profile'> {
    const { client, clock, random, logger, extenders, isEnabled } = this.#options
    return {
      cache: this.cache,
      objects: this.objects,
      client,
      clock,
      random,
      logger,
      extenders,
      isEnabled,
      metrics: this.#metrics,
      nominator: this.nominator,
      activate: (uids) => this.queue.activate(uids),
      reconsider: (uid) => this.queue.reconsider(uid),
      nextChange: (kind, signal) => this.#nextChange(kind, signal),
    }
  }

  #nextChange(kind: WatchedKind, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#changeListeners.delete(listener)
        signal.removeEventListener('abort', onAbort)
      }
      const onAbort = () => {
        stop()
        reject(signal.reason)
      }
      const listener = (changed: WatchedKind) => {
        if (changed !== kind) return
        stop()
        resolve()
      }
      if (signal.aborted) return reject(signal.reason)
      this.#changeListeners.add(listener)
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }
}

function noNodes(): FitError {
  const diagnosis = new Diagnosis()
  diagnosis.plugins.add(noNodesMessage)
  return new FitError(0, diagnosis)
}

const rejectionOf = (error: FitError, message: string): Status => ({ code: 'Unschedulable', reasons: [message], plugin: '', error })
