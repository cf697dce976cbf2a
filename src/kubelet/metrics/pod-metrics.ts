/** What an agent counts of its pods and containers, by upstream's names. */

import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1ContainerStatus, V1Pod, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import type { Counter, Gauge, Histogram, Metrics } from '#base/metrics.ts'

const lists = [
  ['container', 'containerStatuses'],
  ['init_container', 'initContainerStatuses'],
  ['ephemeral_container', 'ephemeralContainerStatuses'],
] as const

/** What a look at a pod is for. */
export type PodOperation = 'create' | 'sync' | 'kill'

const lifecycles = ['sync', 'terminating', 'terminated'] as const
const usualBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const startBuckets = [0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600]

export class PodMetrics {
  readonly #started: Counter
  readonly #startErrors: Counter
  readonly #terminated: Counter
  readonly #startedPods: Counter
  readonly #podStart: Histogram
  readonly #runningPods: Gauge
  readonly #runningContainers: Gauge
  readonly #active: Gauge
  readonly #desired: Gauge
  readonly #relistDuration: Histogram
  readonly #relistInterval: Histogram
  readonly #lastSeen: Gauge
  readonly #working: Gauge
  readonly #mirrors: Gauge
  readonly #ephemeral: Gauge
  readonly #rejections: Counter
  readonly #lookDuration: Histogram
  readonly #workerStart: Histogram
  readonly #statusSync: Histogram
  readonly #podStartTotal: Histogram
  #relistedMs: number | undefined

  constructor(metrics: Metrics, nodeName: string) {
    metrics.gauge('kubelet_node_name', 'Always 1; the label is the name of the node.').set(1, { node: nodeName })
    this.#started = metrics.counter('kubelet_started_containers_total', 'Containers that were started.')
    this.#startErrors = metrics.counter('kubelet_started_containers_errors_total', 'Starts of containers that failed.')
    this.#terminated = metrics.counter('kubelet_terminated_containers_total', 'Containers that have ended.')
    this.#startedPods = metrics.counter('kubelet_started_pods_total', 'Pods that have begun to run.')
    this.#podStart = metrics.histogram(
      'kubelet_pod_start_duration_seconds',
      'Time from when a pod was first seen until it ran.',
      startBuckets,
    )
    this.#runningPods = metrics.gauge('kubelet_running_pods', 'Pods whose sandbox runs now.')
    this.#runningContainers = metrics.gauge('kubelet_running_containers', 'Containers that run now.')
    const ofPods = 'Static ones do not come from the API server.'
    this.#active = metrics.gauge('kubelet_active_pods', `Pods that count when another one is admitted. ${ofPods}`)
    this.#desired = metrics.gauge('kubelet_desired_pods', `Pods that are to run on this node. ${ofPods}`)
    this.#relistDuration = metrics.histogram('kubelet_pleg_relist_duration_seconds', 'How long a relist of the pods took.', usualBuckets)
    this.#relistInterval = metrics.histogram(
      'kubelet_pleg_relist_interval_seconds',
      'Time from one relist of the pods to the next.',
      usualBuckets,
    )
    this.#working = metrics.gauge('kubelet_working_pods', `Pods that are looked after, by what is done with them. ${ofPods}`)
    this.#mirrors = metrics.gauge('kubelet_mirror_pods', 'Static pods, which the API sees by their mirrors.')
    this.#ephemeral = metrics.gauge('kubelet_managed_ephemeral_containers', 'Ephemeral containers of the pods.')
    this.#rejections = metrics.counter('kubelet_admission_rejections_total', 'Pods that the node did not take, by the reason.')
    this.#lookDuration = metrics.histogram('kubelet_pod_worker_duration_seconds', 'How long a look at a pod took.', usualBuckets)
    this.#workerStart = metrics.histogram(
      'kubelet_pod_worker_start_duration_seconds',
      'Time from when a pod was seen until it was looked after.',
      usualBuckets,
    )
    this.#statusSync = metrics.histogram(
      'kubelet_pod_status_sync_duration_seconds',
      'Time from when a status was known until the API had it.',
      [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
    )
    this.#podStartTotal = metrics.histogram(
      'kubelet_pod_start_total_duration_seconds',
      'Time from when a pod was created until it ran.',
      startBuckets,
    )
    this.#lastSeen = metrics.gauge('kubelet_pleg_last_seen_seconds', 'When the pods were last relisted, in Unix seconds.')
  }

  /** A pod was looked at, and what was to be done for it has been begun. */
  looked(operation_type: PodOperation, tookMs: number): void {
    this.#lookDuration.observe(tookMs / 1000, { operation_type })
  }

  /** A pod was seen, and is looked after so much later. */
  began(tookMs: number): void {
    this.#workerStart.observe(tookMs / 1000)
  }

  rejected(reason: string): void {
    this.#rejections.inc({ reason })
  }

  /** The API has heard how a pod stands, so much after that was known. */
  told(tookMs: number): void {
    this.#statusSync.observe(tookMs / 1000)
  }

  /** A pod stands otherwise than it did. */
  hears({ metadata }: V1Pod, before: V1PodStatus | undefined, after: V1PodStatus, nowMs: number): void {
    for (const [container_type, list] of lists) {
      for (const status of after[list] ?? []) {
        const earlier = before?.[list]?.find(({ name }) => name === status.name)
        this.#compare(container_type, earlier, status)
      }
    }
    if (after.phase === 'Running' && before?.phase !== 'Running') {
      this.#startedPods.inc()
      if (after.startTime) this.#podStart.observe(Math.max(0, nowMs - parseTime(after.startTime)) / 1000)
      const { creationTimestamp } = metadata
      if (creationTimestamp) this.#podStartTotal.observe(Math.max(0, nowMs - parseTime(creationTimestamp)) / 1000)
    }
  }

  /** Before figures are shown. */
  count(pods: readonly V1Pod[]): void {
    let running = 0
    const states = new Map<string, number>([
      ['created', 0],
      ['running', 0],
      ['exited', 0],
    ])
    const active = new Map([
      ['', 0],
      ['true', 0],
    ])
    const desired = new Map(active)
    const working = new Map<string, number>(
      lifecycles.flatMap((lifecycle) => ['', 'true'].map((isStatic) => [`${lifecycle}/${isStatic}`, 0] as const)),
    )
    let ephemeral = 0
    for (const pod of pods) {
      const isStatic = pod.metadata.annotations?.['kubernetes.io/config.source'] !== undefined ? 'true' : ''
      desired.set(isStatic, (desired.get(isStatic) ?? 0) + 1)
      if (!isPodFinished(pod)) active.set(isStatic, (active.get(isStatic) ?? 0) + 1)
      const lifecycle = isPodFinished(pod) ? 'terminated' : pod.metadata.deletionTimestamp === undefined ? 'sync' : 'terminating'
      working.set(`${lifecycle}/${isStatic}`, (working.get(`${lifecycle}/${isStatic}`) ?? 0) + 1)
      ephemeral += pod.spec.ephemeralContainers?.length ?? 0
      const statuses = lists.flatMap(([, list]) => pod.status?.[list] ?? [])
      if (statuses.some(({ state }) => state?.running)) running++
      for (const { state } of statuses) {
        const word = state?.running ? 'running' : state?.terminated ? 'exited' : undefined
        if (word !== undefined) states.set(word, (states.get(word) ?? 0) + 1)
      }
    }
    this.#runningPods.set(running)
    for (const [container_state, count] of states) this.#runningContainers.set(count, { container_state })
    for (const [isStatic, count] of active) this.#active.set(count, { static: isStatic })
    for (const [isStatic, count] of desired) this.#desired.set(count, { static: isStatic })
    for (const [key, count] of working) {
      const [lifecycle = '', isStatic = ''] = key.split('/')
      this.#working.set(count, { config: 'desired', lifecycle, static: isStatic })
    }
    this.#mirrors.set(desired.get('true') ?? 0)
    this.#ephemeral.set(ephemeral)
  }

  relisted(startedMs: number, nowMs: number): void {
    this.#relistDuration.observe((nowMs - startedMs) / 1000)
    if (this.#relistedMs !== undefined) this.#relistInterval.observe((nowMs - this.#relistedMs) / 1000)
    this.#relistedMs = nowMs
    this.#lastSeen.set(Math.floor(nowMs / 1000))
  }

  #compare(container_type: string, before: V1ContainerStatus | undefined, { containerID, state }: V1ContainerStatus): void {
    if (containerID && containerID !== before?.containerID) this.#started.inc({ container_type })
    const { waiting, terminated } = state ?? {}
    if (waiting?.reason && failures.has(waiting.reason) && before?.state?.waiting?.reason !== waiting.reason) {
      this.#startErrors.inc({ container_type, code: waiting.reason })
    }
    if (terminated && !(before?.state?.terminated && before.containerID === containerID)) {
      this.#terminated.inc({ container_type, exit_code: String(terminated.exitCode), reason: terminated.reason ?? '' })
    }
  }
}

const failures = new Set([
  ...['ErrImagePull', 'InvalidImageName', 'ErrImageNeverPull', 'ImageInspectError', 'RegistryUnavailable'],
  ...['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError', 'PostStartHookError'],
])
