/** Judges labels, annotations and label selectors as they stand in objects. */
import type { V1FieldSelectorRequirement, V1LabelSelector, V1LabelSelectorRequirement } from '#api/meta/v1/types.gen.ts'
import type { Check } from './check.ts'
import { byteLength, labelValue, mustBe, qualifiedName } from './names.ts'

type Texts = { readonly [key: string]: string }

export function validateLabels(labels: Texts | undefined, check: Check): void {
  for (const key in labels) {
    mustBe(qualifiedName, key, check)
    mustBe(labelValue, labels[key] ?? '', check)
  }
}

export const annotationsMaxBytes = 256 * 1024

export function validateAnnotations(annotations: Texts | undefined, check: Check): void {
  let size = 0
  for (const key in annotations) {
    // Case does not matter in an annotation's key, not even in its domain.
    for (const message of qualifiedName(key.toLowerCase())) check.invalid(key, message)
    size += byteLength(key) + byteLength(annotations[key] ?? '')
  }
  if (size > annotationsMaxBytes) check.tooLong(annotationsMaxBytes)
}

export type LabelSelectorOptions = {
  /** For selectors that were stored with values that are refused today. */
  allowInvalidValues?: boolean
  /** For access reviews, which look at the requirement as a whole. */
  allowUnknownOperators?: boolean
}

/** An absent selector is fine here; whether it is required is the kind's business. */
export function validateLabelSelector(selector: V1LabelSelector | undefined, check: Check, options: LabelSelectorOptions = {}): void {
  if (selector === undefined) return
  validateLabels(selector.matchLabels, check.at('matchLabels'))
  const expressions = selector.matchExpressions ?? []
  for (const [index, requirement] of expressions.entries()) {
    validateLabelSelectorRequirement(requirement, check.at('matchExpressions').at(index), options)
  }
}

export function validateLabelSelectorRequirement(
  requirement: V1LabelSelectorRequirement,
  check: Check,
  options: LabelSelectorOptions = {},
): void {
  validateOperator(requirement, check, options)
  mustBe(qualifiedName, requirement.key ?? '', check.at('key'))
  if (options.allowInvalidValues) return
  const values = requirement.values ?? []
  for (const [index, value] of values.entries()) mustBe(labelValue, value, check.at('values').at(index))
}

export function validateFieldSelectorRequirement(
  requirement: V1FieldSelectorRequirement,
  check: Check,
  options: Pick<LabelSelectorOptions, 'allowUnknownOperators'> = {},
): void {
  if ((requirement.key ?? '') === '') check.at('key').required('must be specified')
  validateOperator(requirement, check, options)
}

function validateOperator(requirement: V1LabelSelectorRequirement, check: Check, options: LabelSelectorOptions): void {
  const count = requirement.values?.length ?? 0
  switch (requirement.operator) {
    case 'In':
    case 'NotIn':
      if (count === 0) check.at('values').required("must be specified when `operator` is 'In' or 'NotIn'")
      break
    case 'Exists':
    case 'DoesNotExist':
      if (count > 0) check.at('values').forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
      break
    default:
      if (!options.allowUnknownOperators) check.at('operator').invalid(requirement.operator ?? '', 'not a valid selector operator')
  }
}

/** Whether an update must set `allowInvalidValues`, because the stored object already has such values. */
export function hasInvalidLabelValue(selector: V1LabelSelector | undefined): boolean {
  return (selector?.matchExpressions ?? []).some(({ values = [] }) => values.some((value) => labelValue(value).length > 0))
}
