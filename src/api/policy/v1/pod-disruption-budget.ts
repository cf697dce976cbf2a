import { mustBePositiveIntOrPercent, mustNotExceed100Percent } from '#api/apps/v1/int-or-percent.ts'
import { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { validateConditions } from '#api/meta/conditions.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { validateLabelSelector } from '#api/meta/labels.ts'
import { nameIsPathSegment } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import { PodDisruptionBudget } from '#api/policy/v1/kinds.gen.ts'
import type { V1PodDisruptionBudgetSpec, V1PodDisruptionBudgetStatus } from '#api/policy/v1/types.gen.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'

/** Stands in selectors for what v1beta1 meant by an empty one: nothing, where this version means everything. */
export const v1beta1EmptySelectorLabel = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match'

export const podDisruptionBudgetResource = defineResource(PodDisruptionBudget, {
  nameRule: nameIsPathSegment,
  finalizers: 'any',
  defaultPropagation: 'Background',

  defaults(budget) {
    budget.spec ??= {}
    stripEmptySelectorLabel(budget.spec.selector)
  },

  validate: (_object, check) => validateSpec(check.at('spec'), false),

  generation: 'spec',
  revalidatesMetadata: false,
  validateUpdate(_next, prev, check) {
    const wasWrong = new Check(prev.spec.selector)
    validateLabelSelector(wasWrong)
    validateSpec(check.at('spec'), wasWrong.failed)
  },

  subresources: {
    status: {
      revalidatesMetadata: false,
      validateUpdate: ({ status }, _prev, check, context) => status && validateStatus(check.at('status').present, context),
    },
  },

  columns: [
    nameColumn,
    {
      name: 'Min Available',
      type: 'string',
      description: 'The minimum number of pods that must be available.',
      cell: ({ spec }) => String(spec.minAvailable ?? 'N/A'),
    },
    {
      name: 'Max Unavailable',
      type: 'string',
      description: 'The maximum number of pods that may be unavailable.',
      cell: ({ spec }) => String(spec.maxUnavailable ?? 'N/A'),
    },
    {
      name: 'Allowed Disruptions',
      type: 'integer',
      description: 'Calculated number of pods that may be disrupted at this time.',
      cell: ({ status }) => status?.disruptionsAllowed ?? 0,
    },
    ageColumn,
  ],
})

function stripEmptySelectorLabel(selector: V1LabelSelector | undefined): void {
  const expressions = selector?.matchExpressions
  if (!selector || !expressions?.some(({ key }) => key === v1beta1EmptySelectorLabel)) return
  const [first] = expressions
  const matchesNothing = expressions.length === 1 && first?.operator === 'Exists' && !first.values?.length && !selector.matchLabels
  if (!matchesNothing) selector.matchExpressions = expressions.filter(({ key }) => key !== v1beta1EmptySelectorLabel)
}

function validateSpec(check: Check<V1PodDisruptionBudgetSpec>, allowInvalidValues: boolean): void {
  const spec = check.value
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy } = spec
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    check.invalid('minAvailable and maxUnavailable cannot be both set', asInternal('policy.PodDisruptionBudgetSpec', spec))
  }
  if (minAvailable !== undefined) {
    mustBePositiveIntOrPercent(check.at('minAvailable').present)
    mustNotExceed100Percent(check.at('minAvailable').present)
  }
  if (maxUnavailable !== undefined) {
    mustBePositiveIntOrPercent(check.at('maxUnavailable').present)
    mustNotExceed100Percent(check.at('maxUnavailable').present)
  }
  validateLabelSelector(check.at('selector'), { allowInvalidValues })
  if (unhealthyPodEvictionPolicy === undefined) return
  if (unhealthyPodEvictionPolicy !== 'AlwaysAllow' && unhealthyPodEvictionPolicy !== 'IfHealthyBudget') {
    check.at('unhealthyPodEvictionPolicy').notSupported(['AlwaysAllow', 'IfHealthyBudget'])
  }
}

function validateStatus(check: Check<V1PodDisruptionBudgetStatus>, { requestVersion }: RuleContext): void {
  validateConditions(check.at('conditions'))
  if (requestVersion === 'policy/v1beta1') return
  nonNegative(check.at('disruptionsAllowed'))
  nonNegative(check.at('currentHealthy'))
  nonNegative(check.at('desiredHealthy'))
  nonNegative(check.at('expectedPods'))
}
