import type { LabelSelector } from '#api/meta/selector.ts'
import type { AdapterRule } from '#metrics-server/adapter/adapter-rule.ts'
import { fillTemplate } from '#metrics-server/adapter/fill-template.ts'
import { type GroupResource, type MetricResources, namespaces } from '#metrics-server/adapter/metric-resources.ts'

type Matcher = { label: string; operator: '=' | '!=' | '=~' | '!~'; value: string }

/** PromQL for a metric of objects of one resource. */
export function queryForObjects(
  rule: AdapterRule,
  labels: MetricResources,
  {
    series,
    resource,
    namespace,
    names,
    selector,
  }: { series: string; resource: GroupResource; namespace: string; names: readonly string[]; selector: LabelSelector },
): string {
  const label = labels.labelOf(resource)
  const own: Matcher =
    names.length === 1
      ? { label, operator: '=', value: names[0] ?? '' }
      : { label, operator: '=~', value: names.map((name) => name.replaceAll('.', '\\.')).join('|') }
  return queryOf(rule, series, [...selected(selector), ...ofNamespace(namespace, labels), own], label)
}

/** PromQL for a metric of nothing in the cluster. */
export function queryForExternal(
  rule: AdapterRule,
  labels: MetricResources,
  { series, namespace, selector }: { series: string; namespace: string; selector: LabelSelector },
): string {
  const isNamespaced = rule.resources?.namespaced !== false
  return queryOf(rule, series, [...selected(selector), ...ofNamespace(isNamespaced ? namespace : '', labels)], '')
}

const ofNamespace = (namespace: string, labels: MetricResources): Matcher[] =>
  namespace === '' ? [] : [{ label: labels.labelOf(namespaces), operator: '=', value: namespace }]

function selected({ requirements }: LabelSelector): Matcher[] {
  return requirements.map(({ key: label, operator, values }): Matcher => {
    const [value = ''] = values
    const all = values.join('|')
    switch (operator) {
      case '=':
      case '==':
        return { label, operator: '=', value }
      case '!=':
        return { label, operator: '!=', value }
      case 'in':
        return values.length === 1 ? { label, operator: '=', value } : { label, operator: '=~', value: all }
      case 'notin':
        return values.length === 1 ? { label, operator: '!=', value } : { label, operator: '!~', value: all }
      case 'exists':
        return { label, operator: '!=', value: '' }
      case '!':
        return { label, operator: '=', value: '' }
      default:
        throw new Error(`selectors of metrics cannot compare: ${label} ${operator}`)
    }
  })
}

function queryOf({ metricsQuery }: AdapterRule, series: string, matchers: readonly Matcher[], groupBy: string): string {
  return fillTemplate(metricsQuery, {
    Series: series,
    LabelMatchers: matchers.map(({ label, operator, value }) => `${label}${operator}${JSON.stringify(value)}`).join(','),
    LabelValuesByName: Object.fromEntries(matchers.map(({ label, value }) => [label, value])),
    GroupBy: groupBy,
    GroupBySlice: groupBy,
  })
}
