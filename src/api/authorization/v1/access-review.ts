/** What the reviews that ask "may they?" have in common. They are answered at once and never stored. */
import type {
  V1FieldSelectorAttributes,
  V1LabelSelectorAttributes,
  V1ResourceAttributes,
  V1SelfSubjectAccessReviewSpec,
  V1SubjectAccessReviewSpec,
} from '#api/authorization/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { each } from '#api/meta/each.ts'
import { semanticEqual } from '#api/meta/equality.ts'
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
export function validateAccess(spec: Attributes, check: Check, subject?: Pick<V1SubjectAccessReviewSpec, 'user' | 'groups'>): void {
  const { resourceAttributes, nonResourceAttributes } = spec
  if (resourceAttributes != null && nonResourceAttributes != null) {
    check.at('nonResourceAttributes').invalid(shownPath(spec), 'cannot be specified in combination with resourceAttributes')
  }
  if (resourceAttributes == null && nonResourceAttributes == null) {
    check.at('resourceAttributes').invalid(null, 'exactly one of nonResourceAttributes or resourceAttributes must be specified')
  }
  if (subject !== undefined && !subject.user && !subject.groups?.length) {
    check.at('user').invalid('', 'at least one of user or group must be specified')
  }
  if (resourceAttributes != null) validateResource(resourceAttributes, check.at('resourceAttributes'))
}

export const shownPath = ({ nonResourceAttributes }: Attributes): unknown =>
  asInternal('*authorization.NonResourceAttributes', nonResourceAttributes)

function validateResource({ fieldSelector, labelSelector }: V1ResourceAttributes, check: Check): void {
  if (fieldSelector != null) {
    const place = check.at('fieldSelector')
    validateSelector(fieldSelector, place)
    each(fieldSelector.requirements, place.at('requirements'), (requirement, item) => {
      validateFieldSelectorRequirement(requirement, item, { allowUnknownOperators: true })
    })
  }
  if (labelSelector != null) {
    const place = check.at('labelSelector')
    validateSelector(labelSelector, place)
    each(labelSelector.requirements, place.at('requirements'), (requirement, item) => {
      validateLabelSelectorRequirement(requirement, item, { allowUnknownOperators: true })
    })
  }
}

function validateSelector({ rawSelector, requirements }: V1FieldSelectorAttributes | V1LabelSelectorAttributes, check: Check): void {
  if (rawSelector && requirements?.length) {
    check.at('rawSelector').invalid(rawSelector, 'may not specified at the same time as requirements')
  }
  if (!rawSelector && !requirements?.length) {
    check.at('requirements').required(`when ${check.path} is specified, requirements or rawSelector is required`)
  }
}

/** Nothing is stored, hence there is nothing to name. */
export function validateNoMeta(metadata: V1ObjectMeta | undefined, message: string, check: Check, kept: readonly string[] = []): void {
  const given = Object.fromEntries(Object.entries(metadata ?? {}).filter(([field]) => field !== 'managedFields' && !kept.includes(field)))
  if (!semanticEqual(given, {})) check.at('metadata').invalid(metadata, message)
}
