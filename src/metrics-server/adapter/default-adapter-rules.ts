import type { AdapterRules } from '#metrics-server/adapter/adapter-rule.ts'

const resources = {
  overrides: {
    namespace: { resource: 'namespace' },
    pod: { resource: 'pod' },
    service: { resource: 'service' },
    node: { resource: 'node' },
  },
}
const seriesQuery = '{namespace!="",__name__!~"^container_.*"}'

/** For series whose labels are `namespace`, `pod`, `service` and `node`: rates of counters, and everything else as it is. */
export const defaultAdapterRules: AdapterRules = {
  rules: [
    {
      ...{ seriesQuery, resources, seriesFilters: [{ isNot: '_total$' }] },
      metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)',
    },
    {
      ...{ seriesQuery, resources, seriesFilters: [{ is: '_total$' }] },
      name: { matches: '^(.*)_total$' },
      metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[5m])) by (<<.GroupBy>>)',
    },
  ],
  externalRules: [],
}
