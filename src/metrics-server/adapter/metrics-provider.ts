import type { LabelSelector } from '#api/meta/selector.ts'
import type { GroupResource } from '#metrics-server/adapter/metric-resources.ts'

/** A metric that objects of a resource have. */
export type CustomMetric = GroupResource & { readonly isNamespaced: boolean; readonly metric: string }

export type MetricSample = {
  /** In thousandths. */
  readonly milli: number
  readonly timeMs: number
  readonly windowSeconds?: number
}
export type ExternalSample = MetricSample & { readonly labels: Readonly<Record<string, string>> }

/** Names are those of objects that are there. Of objects and metrics that are not known nothing is answered. */
export type CustomQuery = GroupResource & {
  readonly metric: string
  /** Empty for objects of no namespace. */
  readonly namespace: string
  readonly names: readonly string[]
  readonly selector: LabelSelector
}
export type ExternalQuery = { readonly metric: string; readonly namespace: string; readonly selector: LabelSelector }

/** Where the adapter has its measurements from. */
export type MetricsProvider = {
  customMetrics(): Promise<CustomMetric[]>
  /** By the name of the object. */
  values(query: CustomQuery): Promise<Map<string, MetricSample>>
  externalMetrics(): Promise<string[]>
  externalValues(query: ExternalQuery): Promise<ExternalSample[]>
}

/** All of them; who comes first is believed. */
export function together(providers: readonly MetricsProvider[]): MetricsProvider {
  const all = async <T>(ask: (provider: MetricsProvider) => Promise<T[]>): Promise<T[]> => (await Promise.all(providers.map(ask))).flat()
  return {
    customMetrics: async () => {
      const found = await all((each) => each.customMetrics())
      return [...new Map(found.map((each) => [`${each.group}/${each.resource}/${each.isNamespaced}/${each.metric}`, each])).values()]
    },
    async values(query) {
      for (const provider of providers) {
        const values = await provider.values(query)
        if (values.size > 0) return values
      }
      return new Map()
    },
    externalMetrics: async () => [...new Set(await all((each) => each.externalMetrics()))],
    async externalValues(query) {
      for (const provider of providers) {
        const values = await provider.externalValues(query)
        if (values.length > 0) return values
      }
      return []
    },
  }
}
