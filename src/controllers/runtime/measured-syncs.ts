import { StatusError } from '#api/meta/status-error.ts'
import type { Clock } from '#base/clock.ts'
import { exponentialBuckets, type Metrics } from '#base/metrics.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'

/** Counts what a controller does and how long that takes, by the code it ends with: 200, that of the API server's refusal, or 500. */
export function measuredSyncs(
  subsystem: string,
): (context: { metricsRegistry: Metrics; clock: Clock }, sync: () => Promise<void>) => Promise<void> {
  const declared = ownMetrics((metrics) => ({
    count: metrics.counter(`${subsystem}_sync_total`, 'How often something was published.'),
    seconds: metrics.histogram(`${subsystem}_sync_duration_seconds`, 'How long publishing took.', exponentialBuckets(0.001, 2, 15)),
  }))
  return async (context, sync) => {
    const { count, seconds } = declared(context)
    const startMs = context.clock.monotonic()
    const record = (code: number) => {
      const labels = { code: String(code) }
      count.inc(labels)
      seconds.observe((context.clock.monotonic() - startMs) / 1000, labels)
    }
    try {
      await sync()
    } catch (error) {
      record(error instanceof StatusError ? error.status.code || 500 : 500)
      throw error
    }
    record(200)
  }
}
