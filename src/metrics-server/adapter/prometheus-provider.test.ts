import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLabelSelector } from '#api/meta/selector.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import type { DiscoveredResource } from '#client/discovery.ts'
import { parseAdapterRules } from '#metrics-server/adapter/adapter-rule.ts'
import type { Labels, PrometheusSample } from '#metrics-server/adapter/prometheus.ts'
import { PrometheusProvider } from '#metrics-server/adapter/prometheus-provider.ts'

const kind = (name: string, plural: string, group = '', scope: 'Namespaced' | 'Cluster' = 'Namespaced') =>
  ({
    group,
    version: 'v1',
    kind: name,
    plural,
    scope,
    schema: '',
    verbs: [],
    isPreferred: true,
    subresourceNames: [],
  }) as DiscoveredResource
const resources = [
  kind('Pod', 'pods'),
  kind('Namespace', 'namespaces', '', 'Cluster'),
  kind('Node', 'nodes', '', 'Cluster'),
  kind('Service', 'services'),
  kind('Deployment', 'deployments', 'apps'),
]

type Asked = { series: string[]; queries: string[] }

function bench(config: string, series: Readonly<Record<string, Labels[]>>, samples: PrometheusSample[] = []) {
  const asked: Asked = { series: [], queries: [] }
  const clock = new VirtualClock()
  let isDown = false
  const prometheus = {
    async series(match: string) {
      asked.series.push(match)
      if (isDown) throw new Error('down')
      return series[match] ?? []
    },
    async query(expression: string) {
      asked.queries.push(expression)
      return samples
    },
  }
  const rules = parseAdapterRules(config)
  const provider = new PrometheusProvider({ prometheus, rules, resources: async () => resources, clock, logger: silentLogger })
  return { provider, asked, clock, goDown: () => (isDown = true) }
}

const requests = `
rules:
- seriesQuery: '{__name__=~"^http_.*",namespace!=""}'
  seriesFilters:
  - isNot: _bucket$
  resources:
    overrides:
      namespace: {resource: namespace}
      pod: {resource: pod}
      deploy: {group: apps, resource: deployment}
  name:
    matches: "^(.*)_total$"
    as: "\${1}_per_second"
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[2m])) by (<<.GroupBy>>)'
`
const match = '{__name__=~"^http_.*",namespace!=""}'
const everything = parseLabelSelector('')
const pods = { group: '', resource: 'pods' }

test('series become metrics of the objects that their labels name', async () => {
  const { provider } = bench(requests, {
    [match]: [
      { __name__: 'http_requests_total', namespace: 'shop', pod: 'a', job: 'x' },
      { __name__: 'http_requests_total', namespace: 'shop', deploy: 'web' },
      { __name__: 'http_time_bucket', namespace: 'shop', pod: 'a' },
      { __name__: 'http_up', namespace: 'shop', pod: 'a' },
    ],
  })
  const metric = 'http_requests_per_second'
  const found = await provider.customMetrics()
  assert.deepEqual(
    found.sort((one, other) => (one.resource < other.resource ? -1 : 1)),
    [
      { group: 'apps', resource: 'deployments', metric, isNamespaced: true },
      { group: '', resource: 'namespaces', metric, isNamespaced: false },
      { group: '', resource: 'pods', metric, isNamespaced: true },
    ],
  )
})

test('a metric is asked for in the words of its rule, and answered for each object', async () => {
  const sample = (pod: string, value: number): PrometheusSample => ({ labels: { pod }, value, timeMs: 5000 })
  const series = { [match]: [{ __name__: 'http_requests_total', namespace: 'shop', pod: 'a' }] }
  const { provider, asked } = bench(requests, series, [sample('a', 1.5), sample('b', Number.NaN)])
  const query = {
    ...pods,
    metric: 'http_requests_per_second',
    namespace: 'shop',
    names: ['a', 'b.c'],
    selector: parseLabelSelector('verb in (GET,POST),code!=500'),
  }
  assert.deepEqual(
    await provider.values(query),
    new Map([
      ['a', { milli: 1500, timeMs: 5000 }],
      ['b', { milli: 0, timeMs: 5000 }],
    ]),
  )
  await provider.values({ ...query, names: ['a'], selector: everything })
  assert.deepEqual(asked.queries, [
    'sum(rate(http_requests_total{code!="500",verb=~"GET|POST",namespace="shop",pod=~"a|b\\\\.c"}[2m])) by (pod)',
    'sum(rate(http_requests_total{namespace="shop",pod="a"}[2m])) by (pod)',
  ])
  assert.deepEqual(await provider.values({ ...query, metric: 'other' }), new Map())
})

test('a template names the labels of resources, and index the values that were selected', async () => {
  const config = `
rules:
- seriesQuery: up
  resources: {template: "kube_<<.Group>>_<<.Resource>>"}
  metricsQuery: '<<.Series>>{x="<<index .LabelValuesByName "kube__pod">>",<<.LabelMatchers>>}'
`
  const series = { up: [{ __name__: 'up', kube__namespace: 'shop', kube__pod: 'a', kube_apps_deployment: 'web', kube_x: 'y' }] }
  const { provider, asked } = bench(config, series)
  assert.deepEqual((await provider.customMetrics()).map(({ resource }) => resource).sort(), ['deployments', 'namespaces', 'pods'])
  await provider.values({ ...pods, metric: 'up', namespace: 'shop', names: ['a'], selector: everything })
  assert.deepEqual(asked.queries, ['up{x="a",kube__namespace="shop",kube__pod="a"}'])
})

test('external rules ask for what is in no object, of a namespace or of none', async () => {
  const config = `
externalRules:
- seriesQuery: queue_length
  resources: {overrides: {ns: {resource: namespace}}}
  metricsQuery: max(<<.Series>>{<<.LabelMatchers>>}) by (queue)
- seriesQuery: sales
  resources: {namespaced: false}
  name: {matches: "", as: orders}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>})
`
  const series = { queue_length: [{ __name__: 'queue_length', ns: 'shop' }], sales: [{ __name__: 'sales' }] }
  const { provider, asked } = bench(config, series, [{ labels: { __name__: 'queue_length', queue: 'q' }, value: 7, timeMs: 1 }])
  assert.deepEqual(await provider.externalMetrics(), ['queue_length', 'orders'])
  const values = await provider.externalValues({ metric: 'queue_length', namespace: 'shop', selector: parseLabelSelector('queue=q') })
  assert.deepEqual(values, [{ labels: { queue: 'q' }, milli: 7000, timeMs: 1 }])
  await provider.externalValues({ metric: 'orders', namespace: 'shop', selector: everything })
  assert.deepEqual(asked.queries, ['max(queue_length{queue="q",ns="shop"}) by (queue)', 'sum(sales{})'])
})

test('series are looked up again when they are old, and what was known stays where nobody answers', async () => {
  const { provider, asked, clock, goDown } = bench(requests, {
    [match]: [{ __name__: 'http_requests_total', namespace: 'shop', pod: 'a' }],
  })
  await provider.customMetrics()
  await provider.customMetrics()
  assert.equal(asked.series.length, 1)
  await clock.advance({ seconds: 31 })
  await provider.customMetrics()
  assert.equal(asked.series.length, 2)
  goDown()
  await clock.advance({ seconds: 31 })
  assert.equal((await provider.customMetrics()).length, 2)
  assert.equal(asked.series.length, 3)
})

for (const [config, problem] of [
  ['rules: [{metricsQuery: x}]', /rules\[0\]: seriesQuery: is required/],
  ['rules: [{seriesQuery: x}]', /rules\[0\]: metricsQuery: is required/],
  ['rules: [{seriesQuery: x, metricsQuery: y, name: {matches: "(a)(b)"}}]', /must have "as"/],
  ['rules: [{seriesQuery: x, metricsQuery: y, seriesFilters: [{}]}]', /either is or isNot/],
  ['externalRules: {}', /externalRules: must be a list/],
] as [string, RegExp][]) {
  test(`rules are refused: ${config}`, () => assert.throws(() => parseAdapterRules(config), problem))
}
