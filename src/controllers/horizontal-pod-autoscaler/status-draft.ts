import type { V2HorizontalPodAutoscaler, V2HorizontalPodAutoscalerStatus, V2MetricStatus } from '#api/autoscaling/v2/types.gen.ts'
import { findCondition, withCondition } from '#api/meta/find-condition.ts'
import { formatTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'

/** The status an autoscaler will have when the round is over. */
export class StatusDraft {
  readonly #clock: Clock
  #status: V2HorizontalPodAutoscalerStatus

  constructor({ status, metadata }: V2HorizontalPodAutoscaler, clock: Clock) {
    this.#clock = clock
    const { generation: observedGeneration } = metadata
    this.#status = { desiredReplicas: 0, ...status, ...defined({ observedGeneration }) }
  }

  get status(): V2HorizontalPodAutoscalerStatus {
    return this.#status
  }

  set(type: string, status: 'True' | 'False', reason: string, message: string): void {
    const conditions = this.#status.conditions ?? []
    const existing = findCondition(conditions, type)
    const lastTransitionTime = existing?.status === status ? (existing.lastTransitionTime ?? null) : formatTime(this.#clock.now())
    const condition = { type, status, lastTransitionTime, reason, message }
    this.#status = { ...this.#status, conditions: withCondition(conditions, condition) }
  }

  is(type: string): boolean {
    return findCondition(this.#status.conditions ?? [], type)?.status === 'True'
  }

  remove(type: string): void {
    const { conditions } = this.#status
    if (conditions === undefined || findCondition(conditions, type) === undefined) return
    this.#status = { ...this.#status, conditions: conditions.filter((each) => each.type !== type) }
  }

  /** What is, and what shall be; that stays as it was where it could not be told. */
  count(currentReplicas: number, desiredReplicas = this.#status.desiredReplicas, metrics: readonly V2MetricStatus[] = []): void {
    this.#status = { ...this.#status, currentReplicas, desiredReplicas, currentMetrics: metrics.length === 0 ? null : [...metrics] }
  }

  scaled(): void {
    this.#status = { ...this.#status, lastScaleTime: formatTime(this.#clock.now()) }
  }
}
