import { Metrics } from '#base/metrics.ts'

/** What `/metrics/slis` shows: how each health check came out, the last time and altogether. */
export class HealthcheckMetrics {
  readonly #metrics = new Metrics()
  readonly #last = this.#metrics.gauge('kubernetes_healthcheck', 'Whether a health check passed when it was last made (1) or not (0)')
  readonly #total = this.#metrics.counter('kubernetes_healthchecks_total', 'How often a health check was made, by its result')

  constructor(startedMs: number) {
    this.#metrics
      .gauge('process_start_time_seconds', 'When the process started, in seconds since the beginning of 1970')
      .set(startedMs / 1000)
  }

  /** `type` is the path without its slash: `livez`. */
  observe(name: string, type: string, hasPassed: boolean): void {
    this.#last.set(hasPassed ? 1 : 0, { name, type })
    this.#total.inc({ name, type, status: hasPassed ? 'success' : 'error' })
  }

  text(): string {
    return this.#metrics.text()
  }
}
