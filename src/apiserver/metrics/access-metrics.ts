/** How often and how quickly it was found out who somebody is and what they may do. */
import type { Metrics } from '#base/metrics.ts'
import { exponentialBuckets } from '#base/metrics.ts'

const buckets = exponentialBuckets(0.001, 2, 15)

type Result = { readonly count: { inc(): void }; readonly duration: { observe(seconds: number): void } }

function results<Name extends string>(
  metrics: Metrics,
  names: readonly Name[],
  counter: [string, string],
  histogram: [string, string],
): Record<Name, Result> {
  const count = metrics.counter(...counter)
  const duration = metrics.histogram(...histogram, buckets)
  return Object.fromEntries(
    names.map((result) => [result, { count: count.with({ result }), duration: duration.with({ result }) }]),
  ) as unknown as Record<Name, Result>
}

export class AccessMetrics {
  readonly #authentication: Record<'success' | 'failure' | 'error', Result>
  readonly #authorization: Record<'allowed' | 'denied' | 'no-opinion' | 'error', Result>

  constructor(metrics: Metrics) {
    this.#authentication = results(
      metrics,
      ['success', 'failure', 'error'],
      ['authentication_attempts', 'Requests by what came of finding out who sent them.'],
      ['authentication_duration_seconds', 'How long that took.'],
    )
    this.#authorization = results(
      metrics,
      ['allowed', 'denied', 'no-opinion', 'error'],
      ['authorization_attempts_total', 'Requests by what came of finding out whether their sender may do that.'],
      ['authorization_duration_seconds', 'How long that took.'],
    )
  }

  authenticated(result: 'success' | 'failure' | 'error', tookMs: number): void {
    const { count, duration } = this.#authentication[result]
    count.inc()
    duration.observe(tookMs / 1000)
  }

  authorized(decision: 'allow' | 'deny' | 'noOpinion', tookMs: number): void {
    const { count, duration } = this.#authorization[decision === 'allow' ? 'allowed' : decision === 'deny' ? 'denied' : 'no-opinion']
    count.inc()
    duration.observe(tookMs / 1000)
  }
}
