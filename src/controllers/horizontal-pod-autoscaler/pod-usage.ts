import { milliValueOf } from '#api/meta/quantity.ts'
import { parseTime } from '#api/meta/time.ts'
import { parseDurationMs } from '#base/duration.ts'
import type { PodMetric } from '#controllers/horizontal-pod-autoscaler/replica-calculator.ts'

/** As `metrics.k8s.io` tells it of a pod. */
export type ResourceMetrics = {
  metadata: { name?: string }
  timestamp: string
  window: string
  containers?: { name: string; usage?: Record<string, string> }[]
}

/** What each pod uses of a resource: all its containers, or one. Pods of which not all is known are left out. */
export function podUsage(items: readonly ResourceMetrics[], resource: string, container: string): Map<string, PodMetric> {
  const metrics = new Map<string, PodMetric>()
  for (const { metadata, timestamp, window, containers = [] } of items) {
    const counted = container === '' ? containers : containers.filter(({ name }) => name === container)
    const usages = counted.map(({ usage }) => usage?.[resource])
    if (usages.length === 0 || usages.includes(undefined)) continue
    const value = usages.reduce((sum, usage) => sum + milliValueOf(usage), 0)
    metrics.set(metadata.name ?? '', { value, timestampMs: parseTime(timestamp), windowMs: parseDurationMs(window) })
  }
  return metrics
}
