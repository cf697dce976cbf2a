/** Validates labels, annotations and label selectors as they stand in objects. */
import type { V1FieldSelectorRequirement, V1LabelSelector, V1LabelSelectorRequirement } from '#api/meta/v1/types.gen.ts'
import type { Check } from './check.ts'
import { byteLength, isPlainLabel, labelValue, mustBe, qualifiedName } from './names.ts'

type Texts = { readonly [key: string]: string }

export function validateLabels(check: Check<Texts | undefined>): void {
  const labels = check.value
  for (const key in labels) {
    const value = labels[key] ?? ''
    if (!isPlainLabel(key)) mustBe(qualifiedName, check.with(key))
    if (!isPlainLabel(value)) mustBe(labelValue, check.with(value))
  }
}

export const annotationsMaxBytes = 256 * 1024

export function validateAnnotations(check: Check<Texts | undefined>): void {
  const annotations = check.value
  let size = 0
  for (const key in annotations) {
    // Case does not matter in an annotation's key, not even in its domain.
    if (!isPlainLabel(key)) for (const message of qualifiedName(key.toLowerCase())) check.invalid(message, key)
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
export function validateLabelSelector(check: Check<V1LabelSelector | undefined>, options: LabelSelectorOptions = {}): void {
  const selector = check.value
  if (selector === undefined) return
  validateLabels(check.at('matchLabels'))
  for (const at of check.at('matchExpressions').items()) {
    validateLabelSelectorRequirement(at, options)
  }
}

export function validateLabelSelectorRequirement(check: Check<V1LabelSelectorRequirement>, options: LabelSelectorOptions = {}): void {
  validateOperator(check, options)
  mustBe(qualifiedName, check.at('key').or(''))
  if (options.allowInvalidValues) return
  for (const at of check.at('values').items()) mustBe(labelValue, at)
}

export function validateFieldSelectorRequirement(
  check: Check<V1FieldSelectorRequirement>,
  options: Pick<LabelSelectorOptions, 'allowUnknownOperators'> = {},
): void {
  const requirement = check.value
  if ((requirement.key ?? '') === '') check.at('key').required('must be specified')
  validateOperator(check, options)
}

function validateOperator(check: Check<V1LabelSelectorRequirement>, options: LabelSelectorOptions): void {
  const requirement = check.value
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
      if (!options.allowUnknownOperators) check.at('operator').or('').invalid('not a valid selector operator')
  }
}

/** Whether an update must set `allowInvalidValues`, because the stored object already has such values. */
export function hasInvalidLabelValue(selector: V1LabelSelector | undefined): boolean {
  return (selector?.matchExpressions ?? []).some(({ values = [] }) => values.some((value) => labelValue(value).length > 0))
}
