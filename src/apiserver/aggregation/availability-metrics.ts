import type { Counter, Metrics } from '#base/metrics.ts'

/** Which APIServices cannot be used, and how often they have become so. */
export class AvailabilityMetrics {
  readonly #unavailable = new Map<string, boolean>()
  readonly #times: Counter

  constructor(metrics: Metrics) {
    const help = 'Whether an APIService cannot be used.'
    const unavailable = this.#unavailable
    metrics.measured('aggregator_unavailable_apiservice', help, function* () {
      for (const [name, isUnavailable] of unavailable) yield [{ name }, isUnavailable ? 1 : 0] as const
    })
    this.#times = metrics.counter('aggregator_unavailable_apiservice_total', 'How often APIServices became unavailable, by reason.')
  }

  set(name: string, isAvailable: boolean): void {
    this.#unavailable.set(name, !isAvailable)
  }

  becameUnavailable(name: string, reason: string): void {
    this.#times.inc({ name, reason })
  }

  forget(name: string): void {
    this.#unavailable.delete(name)
  }
}
