import { CliError } from '#cli/cli-error.ts'
import { type Item, identityOf } from './item.ts'
import type { SortOptions } from './kustomization.ts'

/** What others need comes first, what watches over others last. */
const first =
  'Namespace ResourceQuota StorageClass CustomResourceDefinition ServiceAccount PodSecurityPolicy Role ClusterRole RoleBinding ClusterRoleBinding ConfigMap Secret Endpoints Service LimitRange PriorityClass PersistentVolume PersistentVolumeClaim Deployment StatefulSet CronJob PodDisruptionBudget'.split(
    ' ',
  )
const last = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration']

/** As they were read, or in an order of kinds, which is the default of kubectl. */
export function ordered(items: readonly Item[], { order = '', legacySortOptions }: SortOptions = { order: 'legacy' }): Item[] {
  if (order !== 'fifo' && order !== 'legacy') throw new CliError("the field 'sortOptions.order' must be one of [fifo, legacy]")
  if (order === 'fifo') {
    if (legacySortOptions !== undefined)
      throw new CliError("the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', not 'legacy'")
    return [...items]
  }
  const { orderFirst = [], orderLast = [] } = legacySortOptions ?? { orderFirst: first, orderLast: last }
  const ranks = new Map([
    ...orderFirst.map((kind, index): [string, number] => [kind, index - orderFirst.length]),
    ...orderLast.map((kind, index): [string, number] => [kind, index + 1]),
  ])
  return items
    .map((item) => ({ item, rank: ranks.get(item.object.kind ?? '') ?? 0, ...sortTexts(item) }))
    .sort((one, other) => one.rank - other.rank || compare(one.kind, other.kind) || compare(one.place, other.place))
    .map(({ item }) => item)
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

function sortTexts(item: Item): { kind: string; place: string } {
  const { group, version, kind, name, namespace } = identityOf(item)
  // Namespaces of other groups follow the ones that everybody needs.
  const groupText = kind === 'Namespace' && group === '' ? '' : group || '~G'
  return { kind: `${groupText}_${version}_${kind}`, place: `${namespace || '~X'}|${name || '~N'}` }
}
