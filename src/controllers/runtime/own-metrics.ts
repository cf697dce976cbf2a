import type { Metrics } from '#base/metrics.ts'

/** Metrics that a controller has besides those of its queue: declared with their first use, once for each registry. */
export function ownMetrics<T>(declare: (metrics: Metrics) => T): (context: { metricsRegistry: Metrics }) => T {
  const declared = new WeakMap<Metrics, T>()
  return ({ metricsRegistry: metrics }) => {
    const known = declared.get(metrics)
    if (known !== undefined) return known
    const made = declare(metrics)
    declared.set(metrics, made)
    return made
  }
}
