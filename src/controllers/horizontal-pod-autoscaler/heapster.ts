/** Measurements from Heapster, which came before the metrics APIs: asked through the proxy of its service. */
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import { largest } from '#base/append.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Client } from '#client/client.ts'
import type { MetricsSource } from '#controllers/horizontal-pod-autoscaler/metrics-source.ts'
import { podUsage, type ResourceMetrics } from '#controllers/horizontal-pod-autoscaler/pod-usage.ts'

const proxy = '/api/v1/namespaces/kube-system/services/http:heapster:/proxy'
const lookBackMs = 5 * 60_000
/** Samples of the last minute are averaged. */
const averagedMs = 60_000

type Sample = { timestamp: string; value?: number; floatValue?: number }

export function heapster({ client, clock }: { client: Client; clock: Clock }): MetricsSource {
  const ask = async <T>(path: string, query: Record<string, string>): Promise<T> => {
    try {
      return JSON.parse(await client.raw(`${proxy}${path}?${new URLSearchParams(query)}`)) as T
    } catch (error) {
      throw new Error(`failed to get metrics from heapster: ${errorMessage(error)}`)
    }
  }
  return {
    async resource({ resource, namespace, selector, container }) {
      const path = `/apis/metrics/v1alpha1/namespaces/${namespace}/pods`
      const { items = [] } = await ask<{ items?: ResourceMetrics[] }>(path, { labelSelector: selector })
      if (items.length === 0) throw new Error('no metrics returned from heapster')
      return podUsage(items, resource, container)
    },
    async pods({ metric, namespace, selector }) {
      const { items: pods } = await client.list(Pod, { namespace, labelSelector: selector })
      if (pods.length === 0) throw new Error('no pods matched the provided selector')
      const names = pods.map(({ metadata }) => metadata.name ?? '')
      const path = `/api/v1/model/namespaces/${namespace}/pod-list/${names.join(',')}/metrics/${metric}`
      const start = formatTime(clock.now() - lookBackMs)
      const { items = [] } = await ask<{ items?: { metrics?: Sample[] }[] }>(path, { start })
      if (items.length !== names.length) throw new Error(`requested metrics for ${names.length} pods, got metrics for ${items.length}`)
      const known = items.flatMap(({ metrics = [] }, index) => {
        const value = latestAverage(metrics)
        return value === undefined ? [] : [[names[index] ?? '', value] as const]
      })
      return new Map(known)
    },
    object: () => Promise.reject(new Error('object metrics are not yet supported')),
    external: () => Promise.reject(new Error("external metrics aren't supported")),
  }
}

function latestAverage(samples: readonly Sample[]) {
  const timestampMs = largest(
    Number.NEGATIVE_INFINITY,
    samples.map(({ timestamp }) => parseTime(timestamp)),
  )
  const counted = samples.filter(({ timestamp }) => timestampMs - parseTime(timestamp) < averagedMs)
  if (counted.length === 0) return undefined
  const sum = counted.reduce((total, { floatValue, value = 0 }) => total + (floatValue ?? value) * 1000, 0)
  return { value: Math.trunc(sum / counted.length), timestampMs, windowMs: averagedMs }
}
