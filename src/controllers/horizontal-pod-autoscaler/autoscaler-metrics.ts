import type { Metrics } from '#base/metrics.ts'

export type Action = 'scale_up' | 'scale_down' | 'none'
export type ErrorLabel = 'spec' | 'internal' | 'none'

const subsystem = 'horizontal_pod_autoscaler_controller'
const buckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index)

/** What the autoscaler tells of itself, under upstream's names. */
export class AutoscalerMetrics {
  readonly #rounds
  readonly #roundSeconds
  readonly #computations
  readonly #computationSeconds
  readonly #desired = new Map<string, number>()

  constructor(metrics: Metrics) {
    this.#rounds = metrics.counter(`${subsystem}_reconciliations_total`, 'How often an autoscaler was reconciled.')
    this.#roundSeconds = metrics.histogram(`${subsystem}_reconciliation_duration_seconds`, 'Time that one reconciliation takes', buckets)
    this.#computations = metrics.counter(`${subsystem}_metric_computation_total`, 'How often a metric was computed.')
    this.#computationSeconds = metrics.histogram(
      `${subsystem}_metric_computation_duration_seconds`,
      'Time that the computation of one metric takes',
      buckets,
    )
    metrics.measured(`${subsystem}_num_horizontal_pod_autoscalers`, 'Current number of controlled HPA objects', () => this.#desired.size)
    metrics.measured(`${subsystem}_desired_replicas`, 'Current desired replica count for HPA objects', () =>
      [...this.#desired].map(([key, replicas]) => {
        const [namespace = '', hpa_name = ''] = key.split('/')
        return [{ namespace, hpa_name }, replicas] as const
      }),
    )
  }

  round(action: Action, error: ErrorLabel, tookMs: number): void {
    this.#rounds.inc({ action, error })
    this.#roundSeconds.observe(tookMs / 1000, { action, error })
  }

  computation(action: Action, error: ErrorLabel, metricType: string, tookMs: number): void {
    const labels = { action, error, metric_type: metricType }
    this.#computations.inc(labels)
    this.#computationSeconds.observe(tookMs / 1000, labels)
  }

  desired(key: string, replicas: number): void {
    this.#desired.set(key, replicas)
  }

  forget(key: string): void {
    this.#desired.delete(key)
  }
}
