/** How often webhooks were asked, how long that took, and what came of it. */
import type { Counter, Histogram, Metrics } from '#base/metrics.ts'

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25]
const conditionBuckets = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25]
const codeLimit = 600

export type RejectionCause = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error'
export type WebhookCallMade = {
  readonly name: string
  readonly operation: string
  readonly tookMs: number
  /** 200 where all went well. */
  readonly code: number
  /** Undefined where the request goes on. */
  readonly rejection: RejectionCause | undefined
}

/** Both kinds are counted in the same series, which can be declared once only. */
const declared = new WeakMap<Metrics, Series>()

type Series = Readonly<Record<'requests' | 'rejections' | 'failedOpen' | 'exclusions' | 'conditionErrors', Counter>> &
  Readonly<Record<'durations' | 'conditionDurations', Histogram>>

function seriesOf(metrics: Metrics): Series {
  const webhook = 'apiserver_admission_webhook'
  const condition = 'apiserver_admission_match_condition'
  return {
    requests: metrics.counter(`${webhook}_request_total`, 'How often admission webhooks were asked.'),
    durations: metrics.histogram(`${webhook}_admission_duration_seconds`, 'How long admission webhooks took.', buckets),
    rejections: metrics.counter(`${webhook}_rejection_count`, 'How often admission webhooks made a request fail.'),
    failedOpen: metrics.counter(`${webhook}_fail_open_count`, 'How often failures of admission webhooks were ignored.'),
    exclusions: metrics.counter(`${condition}_exclusions_total`, 'How often match conditions left a request out.'),
    conditionErrors: metrics.counter(`${condition}_evaluation_errors_total`, 'How often match conditions could not be evaluated.'),
    conditionDurations: metrics.histogram(`${condition}_evaluation_seconds`, 'How long match conditions took.', conditionBuckets),
  }
}

export class WebhookMetrics {
  readonly #type: string
  readonly #series: Series

  constructor(metrics: Metrics, kind: 'mutating' | 'validating') {
    this.#type = kind === 'mutating' ? 'admit' : 'validating'
    this.#series = declared.getOrInsertComputed(metrics, seriesOf)
  }

  called({ name, operation, tookMs, code, rejection }: WebhookCallMade): void {
    const labels = { name, type: this.#type, operation, rejected: String(rejection !== undefined) }
    const counted = String(Math.min(code, codeLimit))
    this.#series.requests.inc({ ...labels, code: counted })
    this.#series.durations.observe(tookMs / 1000, labels)
    if (rejection === undefined) return
    this.#series.rejections.inc({ name, type: this.#type, operation, error_type: rejection, rejection_code: counted })
  }

  failedOpen(name: string): void {
    this.#series.failedOpen.inc({ name, type: this.#type })
  }

  conditionsEvaluated(name: string, operation: string, outcome: boolean | string, tookMs: number): void {
    const labels = { name, kind: 'webhook', type: this.#type, operation }
    this.#series.conditionDurations.observe(tookMs / 1000, labels)
    if (typeof outcome === 'string') this.#series.conditionErrors.inc(labels)
    else if (!outcome) this.#series.exclusions.inc(labels)
  }
}
