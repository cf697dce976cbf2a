import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import type { EventRecorder } from '#client/events/event-recorder.ts'

/** What the autoscaler does, as events of its status ConfigMap, for users who cannot see its log. */
export class StatusEvents {
  readonly #events: EventRecorder
  /** Nothing is recorded before it has been written. */
  configMap: V1ConfigMap | undefined

  constructor(events: EventRecorder) {
    this.#events = events
  }

  normal(reason: string, message: string): void {
    if (this.configMap !== undefined) this.#events.normal(ConfigMap, this.configMap, reason, message)
  }

  warning(reason: string, message: string): void {
    if (this.configMap !== undefined) this.#events.warning(ConfigMap, this.configMap, reason, message)
  }
}
