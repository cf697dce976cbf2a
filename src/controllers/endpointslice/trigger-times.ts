/** When what endpoints show had changed: clients measure by it how long a change takes to reach them. */
import type { V1Pod, V1Service } from '#api/core/v1/types.gen.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { createdMs, podCondition } from '#controllers/workload/pods.ts'

export const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time'

type Seen = { serviceMs: number; podsMs: ReadonlyMap<string, number> }

export class TriggerTimes {
  readonly #seen = new WeakMap<Cache, Map<string, Seen>>()

  /** The earliest of the changes since the last look; a service that is looked at for the first time counts from its creation. */
  next(cache: Cache, key: string, service: V1Service, pods: readonly V1Pod[]): { [triggerTimeAnnotation]?: string } {
    const services = this.#of(cache)
    const known = services.get(key)
    const podsMs = new Map<string, number>()
    let earliestMs = Number.POSITIVE_INFINITY
    for (const pod of pods) {
      const changed = podCondition(pod, 'Ready')?.lastTransitionTime
      if (!changed) continue
      const { name = '' } = pod.metadata
      const changedMs = parseTime(changed)
      podsMs.set(name, changedMs)
      if (changedMs > (known?.podsMs.get(name) ?? 0)) earliestMs = Math.min(earliestMs, changedMs)
    }
    const serviceMs = createdMs(service)
    if (serviceMs > (known?.serviceMs ?? 0)) earliestMs = Math.min(earliestMs, serviceMs)
    services.set(key, { serviceMs, podsMs })
    const triggeredMs = known === undefined ? serviceMs : earliestMs
    return Number.isFinite(triggeredMs) ? { [triggerTimeAnnotation]: formatTime(triggeredMs) } : {}
  }

  forget(cache: Cache, key: string): void {
    this.#of(cache).delete(key)
  }

  #of(cache: Cache): Map<string, Seen> {
    let services = this.#seen.get(cache)
    if (services === undefined) {
      services = new Map()
      this.#seen.set(cache, services)
    }
    return services
  }
}
