import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import { podDisruptionBudgetResource as podDisruptionBudgetV1, v1beta1EmptySelectorLabel } from '#api/policy/v1/pod-disruption-budget.ts'
import type { V1PodDisruptionBudget } from '#api/policy/v1/types.gen.ts'
import type { V1beta1PodDisruptionBudget } from '#api/policy/v1beta1/types.gen.ts'

/** An empty selector selects nothing here, and everything in v1: each says in its own words what the other means. */
export const podDisruptionBudgetResource = legacyVersion<V1beta1PodDisruptionBudget, V1PodDisruptionBudget>(podDisruptionBudgetV1, {
  version: 'v1beta1',
  deprecated: { deprecatedIn: '1.21', removedIn: '1.25' },
  toStored(budget) {
    const { selector } = budget.spec ?? {}
    if (isEmpty(selector)) budget.spec.selector = withLabel('Exists')
    else if (selector && isJustLabel(selector, 'DoesNotExist')) budget.spec.selector = {}
    else if (selector?.matchExpressions?.some(({ key }) => key === v1beta1EmptySelectorLabel)) {
      selector.matchExpressions = selector.matchExpressions.filter(({ key }) => key !== v1beta1EmptySelectorLabel)
    }
    return budget as V1PodDisruptionBudget
  },
  fromStored(budget) {
    const { selector } = budget.spec ?? {}
    if (isEmpty(selector)) budget.spec.selector = withLabel('DoesNotExist')
    else if (selector && isJustLabel(selector, 'Exists')) budget.spec.selector = {}
    return budget as V1beta1PodDisruptionBudget
  },
})

function isEmpty(selector: V1LabelSelector | undefined): boolean {
  return selector !== undefined && !selector.matchExpressions?.length && Object.keys(selector.matchLabels ?? {}).length === 0
}

const withLabel = (operator: string): V1LabelSelector => ({ matchExpressions: [{ key: v1beta1EmptySelectorLabel, operator }] })

function isJustLabel({ matchLabels = {}, matchExpressions = [] }: V1LabelSelector, operator: string): boolean {
  const [first, ...others] = matchExpressions
  if (first === undefined || others.length > 0 || Object.keys(matchLabels).length > 0) return false
  return first.key === v1beta1EmptySelectorLabel && first.operator === operator && !first.values?.length
}
