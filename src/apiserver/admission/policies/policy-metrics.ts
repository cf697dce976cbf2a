/** How often policies were asked, how long that took and what came of it. */
import type { Counter, Histogram, Metrics } from '#base/metrics.ts'

const buckets = [0.000_000_5, 0.001, 0.01, 0.1, 1]

export type Enforcement = 'allow' | 'deny' | 'audit' | 'warn'
export type PolicyCheck = {
  readonly policy: string
  readonly binding: string
  readonly enforcement: Enforcement
  /** What was wrong with the object or with the expression. */
  readonly message: string | undefined
  readonly tookMs: number
}

export class PolicyMetrics {
  readonly #checks: Counter
  readonly #durations: Histogram

  constructor(metrics: Metrics, kind: 'validating' | 'mutating') {
    const prefix = `apiserver_${kind}_admission_policy`
    this.#checks = metrics.counter(`${prefix}_check_total`, 'How often policies were asked, by what came of it.')
    this.#durations = metrics.histogram(`${prefix}_check_duration_seconds`, 'How long policies took, by what came of it.', buckets)
  }

  observe({ policy, binding, enforcement, message, tookMs }: PolicyCheck): void {
    const labels = { policy, policy_binding: binding, error_type: errorType(message), enforcement_action: enforcement }
    this.#checks.inc(labels)
    this.#durations.observe(tookMs / 1000, labels)
  }
}

function errorType(message: string | undefined): string {
  if (message === undefined) return 'no_error'
  if (message.startsWith('compilation')) return 'compile_error'
  return message.startsWith('validation failed due to running out of cost budget') ? 'out_of_budget' : 'invalid_error'
}
