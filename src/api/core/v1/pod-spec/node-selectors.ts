/** Judges selectors of nodes. */
import type { V1NodeSelector, V1NodeSelectorRequirement, V1NodeSelectorTerm } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { dns1123Subdomain, labelValue, mustBe, qualifiedName } from '#api/meta/names.ts'

/** `allowInvalidValues` is for selectors that were stored with values that are refused today, and for mere preferences. */
export function validateNodeSelector(selector: V1NodeSelector, check: Check, allowInvalidValues: boolean): void {
  const terms = selector.nodeSelectorTerms ?? []
  if (terms.length === 0) {
    check.at('nodeSelectorTerms').required('must have at least one node selector term')
    return
  }
  for (const [index, term] of terms.entries()) {
    validateNodeSelectorTerm(term, check.at('nodeSelectorTerms').at(index), allowInvalidValues)
  }
}

export function validateNodeSelectorTerm(term: V1NodeSelectorTerm, check: Check, allowInvalidValues: boolean): void {
  for (const [index, requirement] of (term.matchExpressions ?? []).entries()) {
    validateLabelRequirement(requirement, check.at('matchExpressions').at(index), allowInvalidValues)
  }
  for (const [index, requirement] of (term.matchFields ?? []).entries()) {
    validateFieldRequirement(requirement, check.at('matchFields').at(index))
  }
}

function validateLabelRequirement(requirement: V1NodeSelectorRequirement, check: Check, allowInvalidValues: boolean): void {
  const { key = '', operator = '', values = [] } = requirement
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
      check.at('operator').invalid(operator, 'not a valid selector operator')
  }
  mustBe(qualifiedName, key, check.at('key'))
  if (allowInvalidValues) return
  for (const [index, value] of values.entries()) mustBe(labelValue, value, check.at('values').at(index))
}

function validateFieldRequirement({ key = '', operator = '', values = [] }: V1NodeSelectorRequirement, check: Check): void {
  if (operator !== 'In' && operator !== 'NotIn') check.at('operator').invalid(operator, 'not a valid selector operator')
  else if (values.length !== 1) {
    check.at('values').required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
  }
  if (key !== 'metadata.name') {
    check.at('key').invalid(key, 'not a valid field selector key')
    return
  }
  for (const [index, value] of values.entries()) mustBe(dns1123Subdomain, value, check.at('values').at(index))
}

export function hasInvalidValueInTerms(terms: readonly V1NodeSelectorTerm[] | undefined): boolean {
  return (terms ?? []).some((term) =>
    (term.matchExpressions ?? []).some(({ values = [] }) => values.some((value) => labelValue(value).length > 0)),
  )
}
