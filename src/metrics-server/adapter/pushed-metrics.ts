import type { Clock } from '#base/clock.ts'
import { resourceText } from '#metrics-server/adapter/metric-resources.ts'
import type { CustomMetric, ExternalSample, MetricSample, MetricsProvider } from '#metrics-server/adapter/metrics-provider.ts'

/** What was pushed is believed for so long: whoever measures is expected to go on. */
const lifetimeMs = 5 * 60_000
/** Nobody may fill the memory. */
const maxSeries = 100_000

type Labels = Readonly<Record<string, string>>
type Pushed = MetricSample & { readonly pushedMs: number; readonly labels: Labels }
type Place = { readonly namespace: string; readonly metric: string }

/** Metrics that somebody pushed, in memory. */
export class PushedMetrics implements MetricsProvider {
  readonly #clock: Clock
  readonly #custom = new Map<string, { of: CustomMetric; byObject: Map<string, Pushed> }>()
  readonly #external = new Map<string, Map<string, Pushed>>()
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  push(of: CustomMetric, { namespace, name }: { namespace: string; name: string }, sample: MetricSample, labels: Labels): void {
    this.#expire()
    const { byObject } = this.#custom.getOrInsertComputed(`${resourceText(of)}/${of.metric}`, () => ({ of, byObject: new Map() }))
    this.#put(byObject, `${namespace}/${name}/${labelKey(labels)}`, sample, labels)
  }

  pushExternal({ namespace, metric }: Place, sample: MetricSample, labels: Labels): void {
    this.#expire()
    const series = this.#external.getOrInsertComputed(`${namespace}/${metric}`, () => new Map())
    this.#put(series, labelKey(labels), sample, labels)
  }

  #put(series: Map<string, Pushed>, key: string, sample: MetricSample, labels: Labels): void {
    if (!series.has(key) && ++this.#count > maxSeries) {
      this.#count--
      throw new Error(`there are ${maxSeries} pushed metrics already`)
    }
    series.set(key, { ...sample, labels, pushedMs: this.#clock.now() })
  }

  async customMetrics(): Promise<CustomMetric[]> {
    this.#expire()
    return [...this.#custom.values()].map(({ of }) => of)
  }

  async externalMetrics(): Promise<string[]> {
    this.#expire()
    return [...new Set([...this.#external.keys()].map((key) => key.slice(key.indexOf('/') + 1)))]
  }

  async values({ group, resource, metric, namespace, names, selector }: Parameters<MetricsProvider['values']>[0]) {
    this.#expire()
    const known = this.#custom.get(`${resourceText({ group, resource })}/${metric}`)
    const wanted = new Set(names.map((name) => `${namespace}/${name}`))
    const values = new Map<string, MetricSample>()
    for (const [key, { labels, pushedMs: _, ...sample }] of known?.byObject ?? []) {
      const [place = '', name = ''] = key.split('/')
      if (wanted.has(`${place}/${name}`) && selector.matches(labels)) values.set(name, sample)
    }
    return values
  }

  async externalValues({ metric, namespace, selector }: Parameters<MetricsProvider['externalValues']>[0]): Promise<ExternalSample[]> {
    this.#expire()
    const series = [...(this.#external.get(`${namespace}/${metric}`)?.values() ?? [])]
    return series.filter(({ labels }) => selector.matches(labels)).map(({ pushedMs: _, ...sample }) => sample)
  }

  #expire(): void {
    const sinceMs = this.#clock.now() - lifetimeMs
    const drop = (series: Map<string, Pushed>) => {
      for (const [key, { pushedMs }] of series) {
        if (pushedMs >= sinceMs) continue
        series.delete(key)
        this.#count--
      }
      return series.size === 0
    }
    for (const [key, { byObject }] of this.#custom) if (drop(byObject)) this.#custom.delete(key)
    for (const [key, series] of this.#external) if (drop(series)) this.#external.delete(key)
  }
}

const labelKey = (labels: Labels): string =>
  Object.entries(labels)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
