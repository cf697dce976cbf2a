import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { DiscoveredResource } from '#client/discovery.ts'
import { type AdapterRule, type AdapterRules, groupCount } from '#metrics-server/adapter/adapter-rule.ts'
import { queryForExternal, queryForObjects } from '#metrics-server/adapter/metric-query.ts'
import { MetricResources, namespaces, resourceText, sameResource } from '#metrics-server/adapter/metric-resources.ts'
import type { CustomMetric, MetricsProvider } from '#metrics-server/adapter/metrics-provider.ts'
import type { Labels, Prometheus } from '#metrics-server/adapter/prometheus.ts'

/** Series are looked up again after so long, when somebody asks. */
const freshMs = 30_000
/** Sooner where a metric is asked for that is not known yet. */
const impatientMs = 2000
/** Series without a sample for so long are no metrics. */
const maxAgeMs = 20 * 60_000

type Source = { readonly series: string; readonly rule: AdapterRule; readonly labels: MetricResources }
type Known = {
  readonly custom: Map<string, { metric: CustomMetric; source: Source }>
  readonly external: Map<string, Source>
  readonly atMs: number
}

export type PrometheusProviderOptions = {
  prometheus: Pick<Prometheus, 'series' | 'query'>
  rules: AdapterRules
  /** What the cluster serves, asked with the series. */
  resources(): Promise<readonly DiscoveredResource[]>
  clock: Clock
  logger: Logger
}

/** Metrics of a Prometheus, by rules. */
export class PrometheusProvider implements MetricsProvider {
  readonly #options: PrometheusProviderOptions
  #known: Known = { custom: new Map(), external: new Map(), atMs: Number.NEGATIVE_INFINITY }
  #looking: Promise<void> | undefined

  constructor(options: PrometheusProviderOptions) {
    this.#options = options
  }

  async customMetrics(): Promise<CustomMetric[]> {
    await this.#refresh(freshMs)
    return [...this.#known.custom.values()].map(({ metric }) => metric)
  }

  async externalMetrics(): Promise<string[]> {
    await this.#refresh(freshMs)
    return [...this.#known.external.keys()]
  }

  async values({ metric, namespace, names, selector, ...resource }: Parameters<MetricsProvider['values']>[0]) {
    const key = customKey({ ...resource, metric })
    const source = await this.#find(() => this.#known.custom.get(key)?.source)
    if (source === undefined || names.length === 0) return new Map()
    const { series, rule, labels } = source
    const isNamespace = sameResource(resource, namespaces)
    const query = queryForObjects(rule, labels, { series, resource, namespace: isNamespace ? '' : namespace, names, selector })
    const samples = await this.#options.prometheus.query(query)
    const label = labels.labelOf(resource)
    return new Map(
      samples.flatMap(({ labels: own, value, timeMs }) => {
        const name = own[label]
        return name === undefined ? [] : [[name, { milli: milliOf(value), timeMs }] as const]
      }),
    )
  }

  async externalValues({ metric, namespace, selector }: Parameters<MetricsProvider['externalValues']>[0]) {
    const source = await this.#find(() => this.#known.external.get(metric))
    if (source === undefined) return []
    const { series, rule, labels } = source
    const samples = await this.#options.prometheus.query(queryForExternal(rule, labels, { series, namespace, selector }))
    return samples.map(({ labels: own, value, timeMs }) => ({ labels: withoutName(own), milli: milliOf(value), timeMs }))
  }

  async #find<T>(look: () => T | undefined): Promise<T | undefined> {
    await this.#refresh(freshMs)
    if (look() === undefined) await this.#refresh(impatientMs)
    return look()
  }

  /** What was known stays where Prometheus does not answer. */
  async #refresh(maxMs: number): Promise<void> {
    if (this.#options.clock.now() - this.#known.atMs < maxMs) return
    this.#looking ??= this.#look()
      .catch((error: unknown) => {
        this.#options.logger.warn('failed to list series of Prometheus', { error: errorMessage(error) })
        this.#known = { ...this.#known, atMs: this.#options.clock.now() - freshMs + impatientMs }
      })
      .finally(() => {
        this.#looking = undefined
      })
    await this.#looking
  }

  async #look(): Promise<void> {
    const { rules, clock, prometheus } = this.#options
    const resources = await this.#options.resources()
    const sinceMs = clock.now() - maxAgeMs
    const custom: Known['custom'] = new Map()
    const external: Known['external'] = new Map()
    // Rules often share their series.
    const found = new Map<string, Promise<Labels[]>>()
    const seriesOf = (query: string) => found.getOrInsertComputed(query, () => prometheus.series(query, sinceMs))
    for (const rule of rules.rules) {
      const labels = new MetricResources(rule, resources)
      for (const own of await seriesOf(rule.seriesQuery)) {
        const series = own['__name__'] ?? ''
        if (!passes(rule, series)) continue
        const name = metricName(rule, series)
        for (const metric of metricsOf(own, labels, name)) custom.set(customKey(metric), { metric, source: { series, rule, labels } })
      }
    }
    for (const rule of rules.externalRules) {
      const labels = new MetricResources(rule, resources)
      for (const { __name__: series = '' } of await seriesOf(rule.seriesQuery)) {
        const name = passes(rule, series) ? metricName(rule, series) : undefined
        if (name !== undefined) external.set(name, { series, rule, labels })
      }
    }
    this.#known = { custom, external, atMs: clock.now() }
  }
}

const customKey = ({ group, resource, metric }: Pick<CustomMetric, 'group' | 'resource' | 'metric'>): string =>
  `${resourceText({ group, resource })}/${metric}`

const clusterWide = new Set(['namespaces', 'nodes', 'persistentvolumes'])

function metricsOf(series: Labels, labels: MetricResources, metric: string | undefined): CustomMetric[] {
  if (metric === undefined) return []
  const resources = Object.keys(series).flatMap((label) => labels.ofLabel(label) ?? [])
  const hasNamespace = resources.some((each) => sameResource(each, namespaces))
  return resources.map((each) => ({
    ...each,
    metric,
    isNamespaced: hasNamespace && !(each.group === '' && clusterWide.has(each.resource)),
  }))
}

const passes = ({ seriesFilters = [] }: AdapterRule, series: string): boolean =>
  seriesFilters.every(({ is, isNot }) => (is === undefined ? !new RegExp(isNot ?? '').test(series) : new RegExp(is).test(series)))

/** Undefined where the rule's expression does not match. */
function metricName({ name = {} }: AdapterRule, series: string): string | undefined {
  const { matches = '.*' } = name
  const found = new RegExp(matches).exec(series)
  if (found === null) return undefined
  const as = name.as || (groupCount(matches) === 1 ? '$1' : '$0')
  return as.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced?: string, plain?: string) => {
    const group = braced ?? plain ?? ''
    return (/^\d+$/.test(group) ? found[Number(group)] : found.groups?.[group]) ?? ''
  })
}

const milliOf = (value: number): number => (Number.isFinite(value) ? Math.trunc(value * 1000) : 0)

function withoutName({ __name__: _name, ...labels }: Labels): Labels {
  return labels
}
