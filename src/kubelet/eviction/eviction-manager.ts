import { tolerates } from '#api/core/v1/node/tolerations.ts'
import { podQosClass } from '#api/core/v1/resources.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Counter } from '#base/metrics.ts'
import { isCriticalPod } from '#kubelet/eviction/critical-pods.ts'
import { evictionMessage } from '#kubelet/eviction/eviction-message.ts'
import { noPressure, type PressureState, pressureNow } from '#kubelet/eviction/pressure.ts'
import { rankPods } from '#kubelet/eviction/rank-pods.ts'
import { conditionOf, type NodeLevels, observe, type PressureCondition, resourceOf, type Signal } from '#kubelet/eviction/signals.ts'
import { exceededStorage, limitsStorage } from '#kubelet/eviction/storage-limits.ts'
import type { Threshold } from '#kubelet/eviction/thresholds.ts'
import type { Waiting } from '#kubelet/pod-worker/pod-steps.ts'
import type { UsageSource } from '#kubelet/stats/usage.ts'

export type EvictionManagerOptions = {
  clock: Clock
  logger: Logger
  thresholds: readonly Threshold[]
  /** How long a condition stays after it was last seen. */
  transitionMs: number
  /** The longest grace of pods that soft thresholds evict. */
  maxPodGraceMs: number
  levels(): Promise<NodeLevels>
  usage: UsageSource
  /** Those whose containers may run. */
  pods(): readonly V1Pod[]
  /** The pod fails as `Evicted`. */
  evict(pod: V1Pod, message: string, graceMs: number): void
  /** Removes what nobody uses: images, containers that have ended. */
  reclaimDisk(): Promise<void>
  /** Tells of the node: `EvictionThresholdMet`, … */
  warn(reason: string, message: string): void
  /** The conditions have changed. */
  onChange(): void
  evictions?: Counter | undefined
}

const everyMs = 10_000
/** Of pods that hard thresholds evict. */
const hardGraceMs = 1000

/** Keeps the node alive when memory, disk or process numbers run short: says so, cleans up, and ends pods, one a look. */
export class EvictionManager implements Disposable {
  readonly #options: EvictionManagerOptions
  readonly #timer: Timer
  #state: PressureState = noPressure
  #conditions: readonly PressureCondition[] = []
  #looking: Promise<void> | undefined

  constructor(options: EvictionManagerOptions) {
    this.#options = options
    this.#timer = options.clock.every(everyMs, () => void this.look())
  }

  [Symbol.dispose](): void {
    this.#timer.cancel()
  }

  get conditions(): readonly PressureCondition[] {
    return this.#conditions
  }

  /** Why the node takes no such pod now. */
  rejectionOf(pod: V1Pod): Waiting | undefined {
    const conditions = this.#conditions
    if (conditions.length === 0 || isCriticalPod(pod)) return undefined
    if (conditions.length === 1 && conditions[0] === 'MemoryPressure') {
      const taint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' }
      if (podQosClass(pod) !== 'BestEffort' || tolerates(pod.spec.tolerations, taint)) return undefined
    }
    return { reason: 'Evicted', message: `The node had condition: [${conditions.join(' ')}]. ` }
  }

  /** Resolves when the node was looked at and what had to be done was begun. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error: unknown) => this.#options.logger.warn('eviction manager: failed to look at the node', { error: String(error) }))
      .finally(() => {
        this.#looking = undefined
      })
    return this.#looking
  }

  async #look(): Promise<void> {
    const { clock, thresholds, transitionMs, levels } = this.#options
    const observations = observe(await levels())
    const { state, conditions, acting } = pressureNow(this.#state, thresholds, observations, { nowMs: clock.now(), transitionMs })
    this.#state = state
    this.#report(conditions)
    if (await this.#endGreedyPods()) return
    const [threshold] = acting
    if (threshold === undefined) return
    const { signal } = threshold
    this.#options.warn('EvictionThresholdMet', `Attempting to reclaim ${resourceOf(signal)}`)
    if (conditionOf(signal) === 'DiskPressure' && (await this.#cleanUp(threshold))) return
    await this.#evictOne(threshold, observations)
  }

  #report(conditions: readonly PressureCondition[]): void {
    const { logger, onChange } = this.#options
    const hasChanged = conditions.length !== this.#conditions.length || conditions.some((each) => !this.#conditions.includes(each))
    this.#conditions = conditions
    if (!hasChanged) return
    logger.info('eviction manager: node conditions changed', { conditions: conditions.join(', ') || 'none' })
    onChange()
  }

  /** True where pods had to go. */
  async #endGreedyPods(): Promise<boolean> {
    const { usage, pods, evict } = this.#options
    const limited = pods().filter((pod) => limitsStorage(pod) && !isCriticalPod(pod))
    if (limited.length === 0) return false
    const found = new Map((await usage.collect({ detail: 'summary' })).pods.map((each) => [each.uid, each]))
    let hasEvicted = false
    for (const pod of limited) {
      const used = found.get(pod.metadata.uid ?? '')
      const message = used && exceededStorage(pod, used)
      if (message === undefined) continue
      evict(pod, message, hardGraceMs)
      this.#count('ephemeralcontainerfs.limit')
      hasEvicted = true
    }
    return hasEvicted
  }

  /** True where cleaning up was enough. */
  async #cleanUp(threshold: Threshold): Promise<boolean> {
    const { reclaimDisk, levels, clock, transitionMs } = this.#options
    await reclaimDisk()
    const { acting } = pressureNow(this.#state, [threshold], observe(await levels()), { nowMs: clock.now(), transitionMs })
    return acting.length === 0
  }

  async #evictOne(threshold: Threshold, observations: ReturnType<typeof observe>): Promise<void> {
    const { usage, pods, evict, maxPodGraceMs, logger } = this.#options
    const { signal, graceMs } = threshold
    const detail = conditionOf(signal) === 'DiskPressure' ? 'summary' : 'amounts'
    const found = new Map((await usage.collect({ detail })).pods.map((each) => [each.uid, each]))
    const usageOf = ({ metadata }: V1Pod) => found.get(metadata.uid ?? '')
    const victim = rankPods(pods(), signal, usageOf).find((pod) => !isCriticalPod(pod))
    if (victim === undefined) {
      logger.warn('eviction manager: no pods are left that could be evicted', { signal })
      return
    }
    const message = evictionMessage(victim, threshold, observations[signal], usageOf(victim))
    const ownGraceMs = (victim.spec.terminationGracePeriodSeconds ?? 30) * 1000
    logger.info('eviction manager: pod evicted', { pod: `${victim.metadata.namespace}/${victim.metadata.name}`, signal })
    evict(victim, message, graceMs === 0 ? hardGraceMs : Math.min(maxPodGraceMs, ownGraceMs))
    this.#count(signal)
  }

  #count(signal: Signal | string): void {
    this.#options.evictions?.inc({ eviction_signal: signal })
  }
}
