/** Ends the node's pods in good order when the machine is shut down: the less important ones first, each group with its own time. */
import { join } from 'node:path'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { parseDurationMs } from '#base/duration.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Gauge, Metrics } from '#base/metrics.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import type { Waiting } from '#kubelet/pod-worker/pod-steps.ts'

export type ShutdownPeriod = { priority: number; shutdownGracePeriodSeconds: number }

/** Holds the shutdown up, and tells of it. */
export type ShutdownNotice = {
  /** Calls back when the machine begins to shut down, and when it does not after all. Resolves when that is so. */
  follow(onChange: (isShuttingDown: boolean) => void): Promise<void>
  /** The machine may go. */
  release(): void
}

export type NodeShutdownOptions = {
  periods: readonly ShutdownPeriod[]
  notice: ShutdownNotice
  rootDirectory: string
  files: Files
  clock: Clock
  logger: Logger
  metrics: Metrics
  activePods(): readonly V1Pod[]
  /** Ends the pod with a reason for its status; resolves when nothing of it runs any more. */
  end(pod: V1Pod, failure: Waiting, graceMs: number): Promise<void>
  /** An event about the node. */
  tell(reason: string, message: string): void
  onChange(): void
}

const terminated: Waiting = { reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.' }
const systemCriticalPriority = 2_000_000_000

/** The least important first; none where the configuration asks for no grace. */
export function shutdownPeriodsOf(configuration: KubeletConfiguration): ShutdownPeriod[] {
  const { shutdownGracePeriod, shutdownGracePeriodCriticalPods, shutdownGracePeriodByPodPriority: given } = configuration
  const byPriority = given.toSorted((left, right) => left.priority - right.priority)
  if (byPriority.length > 0) return byPriority
  const allSeconds = parseDurationMs(shutdownGracePeriod) / 1000
  const criticalSeconds = parseDurationMs(shutdownGracePeriodCriticalPods) / 1000
  if (allSeconds === 0 || criticalSeconds > allSeconds) return []
  return [
    { priority: 0, shutdownGracePeriodSeconds: Math.floor(allSeconds - criticalSeconds) },
    { priority: systemCriticalPriority, shutdownGracePeriodSeconds: Math.floor(criticalSeconds) },
  ]
}

export class NodeShutdown {
  readonly #options: NodeShutdownOptions
  readonly #startTime: Gauge
  readonly #endTime: Gauge
  #isShuttingDown = false

  constructor(options: NodeShutdownOptions) {
    this.#options = options
    const { metrics } = options
    this.#startTime = metrics.gauge(
      'kubelet_graceful_shutdown_start_time_seconds',
      'When the last graceful shutdown began, in Unix seconds.',
    )
    this.#endTime = metrics.gauge('kubelet_graceful_shutdown_end_time_seconds', 'When the last graceful shutdown ended, in Unix seconds.')
  }

  /** Resolves when the machine would wait for us. */
  async start(): Promise<void> {
    const { notice, logger } = this.#options
    const written = await this.#options.files.readTextIfPresent(this.#path)
    if (written !== undefined) this.#show(JSON.parse(written) as { startTime: string; endTime: string })
    await notice.follow((isShuttingDown) => {
      this.#change(isShuttingDown).catch((error: unknown) => logger.error('failed to end pods for the shutdown', { error: String(error) }))
    })
  }

  /** Why the node is not ready. */
  get problems(): string[] {
    return this.#isShuttingDown ? ['node is shutting down'] : []
  }

  get rejection(): Waiting | undefined {
    if (!this.#isShuttingDown) return undefined
    return { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' }
  }

  get #path(): string {
    return join(this.#options.rootDirectory, 'graceful_node_shutdown_state')
  }

  async #change(isShuttingDown: boolean): Promise<void> {
    const { tell, onChange, notice } = this.#options
    this.#isShuttingDown = isShuttingDown
    tell('NodeShutdown', isShuttingDown ? 'Shutdown manager detected shutdown event' : 'Shutdown manager detected shutdown cancellation')
    onChange()
    if (!isShuttingDown) return
    try {
      await this.#endPods()
    } finally {
      notice.release()
    }
  }

  async #endPods(): Promise<void> {
    const { clock, files } = this.#options
    const now = () => new Date(clock.now()).toISOString()
    const state = { startTime: now(), endTime: '' }
    await files.write(this.#path, JSON.stringify(state))
    for (const { pods, graceMs } of this.#groups()) {
      if (pods.length > 0) await this.#endGroup(pods, graceMs)
    }
    state.endTime = now()
    this.#show(state)
    await files.write(this.#path, JSON.stringify(state))
  }

  async #endGroup(pods: readonly V1Pod[], graceMs: number): Promise<void> {
    const { clock, end, logger } = this.#options
    const late = new AbortController()
    const graceOf = ({ spec }: V1Pod) => Math.min(graceMs, (spec.terminationGracePeriodSeconds ?? 30) * 1000)
    const ended = Promise.allSettled(pods.map((pod) => end(pod, terminated, graceOf(pod))))
    const timedOut = clock.sleep(graceMs, late.signal).then(
      () => logger.warn('pods did not end within the time their priority has at shutdown', { graceMs, pods: pods.length }),
      () => {},
    )
    await Promise.race([ended, timedOut])
    late.abort()
  }

  #groups(): { pods: V1Pod[]; graceMs: number }[] {
    const { periods, activePods } = this.#options
    const groups = periods.map(({ priority, shutdownGracePeriodSeconds }) => ({
      ...{ priority, graceMs: shutdownGracePeriodSeconds * 1000, pods: [] as V1Pod[] },
    }))
    for (const pod of activePods()) {
      // The group with the highest priority that is not above the pod's; those below all belong to the first.
      const group = groups.findLast(({ priority }) => priority <= (pod.spec.priority ?? 0)) ?? groups[0]
      group?.pods.push(pod)
    }
    return groups
  }

  #show({ startTime, endTime }: { startTime: string; endTime: string }): void {
    const seconds = (text: string) => (text === '' ? 0 : Date.parse(text) / 1000)
    this.#startTime.set(seconds(startTime))
    this.#endTime.set(seconds(endTime))
  }
}
