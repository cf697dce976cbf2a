/** Validates selectors of nodes. */
import type { V1NodeSelector, V1NodeSelectorRequirement, V1NodeSelectorTerm } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { dns1123Subdomain, labelValue, mustBe, qualifiedName } from '#api/meta/names.ts'

/** `allowInvalidValues` is for selectors that were stored with values that are refused today, and for mere preferences. */
export function validateNodeSelector(check: Check<V1NodeSelector>, allowInvalidValues: boolean): void {
  const selector = check.value
  const terms = selector.nodeSelectorTerms ?? []
  if (terms.length === 0) {
    check.at('nodeSelectorTerms').required('must have at least one node selector term')
    return
  }
  for (const at of check.at('nodeSelectorTerms').items()) {
    validateNodeSelectorTerm(at, allowInvalidValues)
  }
}

export function validateNodeSelectorTerm(check: Check<V1NodeSelectorTerm>, allowInvalidValues: boolean): void {
  for (const at of check.at('matchExpressions').items()) {
    validateLabelRequirement(at, allowInvalidValues)
  }
  for (const at of check.at('matchFields').items()) {
    validateFieldRequirement(at)
  }
}

function validateLabelRequirement(check: Check<V1NodeSelectorRequirement>, allowInvalidValues: boolean): void {
  const requirement = check.value
  const { operator = '', values = [] } = requirement
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) check.at('values').required("must be specified when `operator` is 'In' or 'NotIn'")
      break
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) check.at('values').forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
      break
    case 'Gt':
    case 'Lt':
      if (values.length !== 1) check.at('values').required("must be specified single value when `operator` is 'Lt' or 'Gt'")
      break
    default:
      check.at('operator').or('').invalid('not a valid selector operator')
  }
  mustBe(qualifiedName, check.at('key').or(''))
  if (allowInvalidValues) return
  for (const at of check.at('values').items()) mustBe(labelValue, at)
}

function validateFieldRequirement(check: Check<V1NodeSelectorRequirement>): void {
  const { key = '', operator = '', values = [] } = check.value
  if (operator !== 'In' && operator !== 'NotIn') check.at('operator').or('').invalid('not a valid selector operator')
  else if (values.length !== 1) {
    check.at('values').required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
  }
  if (key !== 'metadata.name') {
    check.at('key').or('').invalid('not a valid field selector key')
    return
  }
  for (const at of check.at('values').items()) mustBe(dns1123Subdomain, at)
}

export function hasInvalidValueInTerms(terms: readonly V1NodeSelectorTerm[] | undefined): boolean {
  return (terms ?? []).some((term) =>
    (term.matchExpressions ?? []).some(({ values = [] }) => values.some((value) => labelValue(value).length > 0)),
  )
}
