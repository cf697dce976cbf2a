import type { Clock } from '#base/clock.ts'
import { resourceText } from '#metrics-server/adapter/metric-resources.ts'
import type { CustomMetric, ExternalSample, MetricSample, MetricsProvider } from '#metrics-server/adapter/metrics-provider.ts'

/** What was pushed is believed for so long: whoever measures is expected to go on. */
const lifetimeMs = 5 * 60_000
/** Nobody may fill the memory: neither with many, nor with long names and labels. */
const maxSeries = 100_000
const maxChars = 32 * 1024 * 1024

type Labels = Readonly<Record<string, string>>
type Pushed = MetricSample & { readonly pushedMs: number; readonly labels: Labels }
/** Series of one metric, by what tells them apart. */
type Group = { readonly byKey: Map<string, Pushed>; forget(): void }
type Place = { readonly namespace: string; readonly metric: string }

/** Metrics that somebody pushed, in memory. */
export class PushedMetrics implements MetricsProvider {
  readonly #clock: Clock
  readonly #custom = new Map<string, Group & { of: CustomMetric }>()
  readonly #external = new Map<string, Group>()
  /** All of them, those that were pushed longest ago first. */
  readonly #byAge = new Map<string, { group: Group; key: string; pushedMs: number }>()
  #chars = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  push(of: CustomMetric, { namespace, name }: { namespace: string; name: string }, sample: MetricSample, labels: Labels): void {
    const metric = `${resourceText(of)}/${of.metric}`
    const group = this.#custom.get(metric) ?? { of, byKey: new Map(), forget: () => this.#custom.delete(metric) }
    this.#put(`custom/${metric}`, group, `${namespace}/${name}/${labelKey(labels)}`, { ...sample, labels, pushedMs: this.#clock.now() })
    this.#custom.set(metric, group)
  }

  pushExternal({ namespace, metric: name }: Place, sample: MetricSample, labels: Labels): void {
    const metric = `${namespace}/${name}`
    const group = this.#external.get(metric) ?? { byKey: new Map(), forget: () => this.#external.delete(metric) }
    this.#put(`external/${metric}`, group, labelKey(labels), { ...sample, labels, pushedMs: this.#clock.now() })
    this.#external.set(metric, group)
  }

  #put(metric: string, group: Group, key: string, pushed: Pushed): void {
    this.#expire()
    const id = `${metric}\u0000${key}`
    if (!this.#byAge.delete(id)) {
      if (this.#byAge.size >= maxSeries) throw new Error(`there are ${maxSeries} pushed metrics already`)
      // Twice, since the labels are kept by themselves as well.
      if (this.#chars + 2 * id.length > maxChars) throw new Error('the names and labels of pushed metrics have no more room')
      this.#chars += 2 * id.length
    }
    this.#byAge.set(id, { group, key, pushedMs: pushed.pushedMs })
    group.byKey.set(key, pushed)
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
    for (const [key, { labels, pushedMs: _, ...sample }] of known?.byKey ?? []) {
      const [place = '', name = ''] = key.split('/')
      if (wanted.has(`${place}/${name}`) && selector.matches(labels)) values.set(name, sample)
    }
    return values
  }

  async externalValues({ metric, namespace, selector }: Parameters<MetricsProvider['externalValues']>[0]): Promise<ExternalSample[]> {
    this.#expire()
    const series = [...(this.#external.get(`${namespace}/${metric}`)?.byKey.values() ?? [])]
    return series.filter(({ labels }) => selector.matches(labels)).map(({ pushedMs: _, ...sample }) => sample)
  }

  #expire(): void {
    const sinceMs = this.#clock.now() - lifetimeMs
    for (const [id, { group, key, pushedMs }] of this.#byAge) {
      if (pushedMs >= sinceMs) return
      this.#byAge.delete(id)
      this.#chars -= 2 * id.length
      group.byKey.delete(key)
      if (group.byKey.size === 0) group.forget()
    }
  }
}

const labelKey = (labels: Labels): string =>
  Object.entries(labels)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
