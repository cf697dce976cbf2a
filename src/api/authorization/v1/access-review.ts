/** What the reviews that ask "may they?" have in common. They are answered at once and never stored. */

import type {
  V1FieldSelectorAttributes,
  V1LabelSelectorAttributes,
  V1ResourceAttributes,
  V1SelfSubjectAccessReviewSpec,
  V1SubjectAccessReviewSpec,
} from '#api/authorization/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { sameObjectMeta } from '#api/meta/equality.ts'
import { validateFieldSelectorRequirement, validateLabelSelectorRequirement } from '#api/meta/labels.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { RuleContext } from '#api/resource.ts'

type Attributes = Pick<V1SelfSubjectAccessReviewSpec, 'resourceAttributes' | 'nonResourceAttributes'>

export function dropDisabledSelectors(spec: Attributes | undefined, context: RuleContext): void {
  if (spec?.resourceAttributes == null || context.isEnabled('AuthorizeWithSelectors')) return
  delete spec.resourceAttributes.fieldSelector
  delete spec.resourceAttributes.labelSelector
}

/** `subject` is there for reviews that name somebody else; `check` stands at the spec. */
export function validateAccess(check: Check<Attributes>, subject?: Pick<V1SubjectAccessReviewSpec, 'user' | 'groups'>): void {
  const spec = check.value
  const { resourceAttributes, nonResourceAttributes } = spec
  if (resourceAttributes != null && nonResourceAttributes != null) {
    check.at('nonResourceAttributes').invalid('cannot be specified in combination with resourceAttributes', shownPath(spec))
  }
  if (resourceAttributes == null && nonResourceAttributes == null) {
    check.at('resourceAttributes').invalid('exactly one of nonResourceAttributes or resourceAttributes must be specified', null)
  }
  if (subject !== undefined && !subject.user && !subject.groups?.length) {
    check.dynamic('user').invalid('at least one of user or group must be specified', '')
  }
  if (resourceAttributes != null) validateResource(check.at('resourceAttributes').present)
}

export const shownPath = ({ nonResourceAttributes }: Attributes): unknown =>
  asInternal('*authorization.NonResourceAttributes', nonResourceAttributes)

function validateResource(check: Check<V1ResourceAttributes>): void {
  const { fieldSelector, labelSelector } = check.value
  if (fieldSelector != null) {
    const place = check.at('fieldSelector')
    validateSelector(place.present)
    place.at('requirements').each((item) => {
      validateFieldSelectorRequirement(item, { allowUnknownOperators: true })
    })
  }
  if (labelSelector != null) {
    const place = check.at('labelSelector')
    validateSelector(place.present)
    place.at('requirements').each((item) => {
      validateLabelSelectorRequirement(item, { allowUnknownOperators: true })
    })
  }
}

function validateSelector(check: Check<V1FieldSelectorAttributes | V1LabelSelectorAttributes>): void {
  const { rawSelector, requirements } = check.value
  if (rawSelector && requirements?.length) {
    check.at('rawSelector').invalid('may not specified at the same time as requirements')
  }
  if (!rawSelector && !requirements?.length) {
    check.at('requirements').required(`when ${check.path} is specified, requirements or rawSelector is required`)
  }
}

/** Nothing is stored, hence there is nothing to name. */
export function validateNoMeta(check: Check<{ metadata?: V1ObjectMeta }>, message: string, kept: readonly string[] = []): void {
  const { metadata } = check.value
  const given = Object.fromEntries(Object.entries(metadata ?? {}).filter(([field]) => field !== 'managedFields' && !kept.includes(field)))
  if (!sameObjectMeta(given, {})) check.at('metadata').invalid(message)
}
