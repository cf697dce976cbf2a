import type { Metrics } from '#base/metrics.ts'
import type { DeviceEviction } from '#controllers/device-taint-eviction/device-eviction.ts'

/** What the controller has done since it was started. */
export class EvictionRecord {
  /** Pods that are to go, by uid. */
  readonly waiting = new Set<string>()
  /** Deletions that were asked for, by the key of the pod: the answer may have been lost. */
  readonly #asked = new Map<string, { uid: string; eviction: DeviceEviction }>()
  readonly #podsByRule = new Map<string, number>()
  readonly #count
  readonly #latency

  constructor(metrics: Metrics) {
    this.#count = metrics.counter(
      'device_taint_eviction_controller_pod_deletions_total',
      'Pods that were deleted because of taints of their devices',
    )
    this.#latency = metrics.histogram(
      'device_taint_eviction_controller_pod_deletion_duration_seconds',
      'Time from the moment a pod was to be deleted to its deletion',
      [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
    )
  }

  asks(key: string, uid: string, eviction: DeviceEviction): void {
    this.#asked.set(key, { uid, eviction })
  }

  /** Of a pod that goes or is gone; with the uid that the name has now, if any, and whether that one goes. Counts where it was asked for. */
  ended(key: string, nowMs: number, now?: { uid: string; isGoing: boolean }): void {
    const asked = this.#asked.get(key)
    if (asked === undefined || (now !== undefined && now.uid === asked.uid && !now.isGoing)) return
    this.#asked.delete(key)
    const { atMs, rules } = asked.eviction
    this.#count.inc()
    this.#latency.observe((nowMs - atMs) / 1000)
    for (const rule of rules) this.#podsByRule.set(rule, this.podsOf(rule) + 1)
  }

  podsOf(rule: string): number {
    return this.#podsByRule.get(rule) ?? 0
  }

  forgetRule(rule: string): void {
    this.#podsByRule.delete(rule)
  }
}
