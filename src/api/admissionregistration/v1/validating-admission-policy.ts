import { admissionKindRules } from '#api/admissionregistration/v1/admission-kind-rules.ts'
import { type ExpressionUse, type PolicyExpression, validateExpression } from '#api/admissionregistration/v1/compile-expression.ts'
import { ValidatingAdmissionPolicy } from '#api/admissionregistration/v1/kinds.gen.ts'
import {
  defaultPolicy,
  paramKindColumn,
  validateHead,
  validatingPolicyMatchConditions,
  validatingVariables,
} from '#api/admissionregistration/v1/policy.ts'
import type {
  V1AuditAnnotation,
  V1ExpressionWarning,
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicySpec,
  V1Validation,
} from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { validateConditions } from '#api/meta/conditions.ts'
import { byteLength, mustBe, qualifiedName } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'
import type { Steps } from '#base/steps.ts'

/** Expressions that every matching request must satisfy. */
export const validatingAdmissionPolicyResource = defineResource(ValidatingAdmissionPolicy, {
  generation: 'spec',
  defaults: defaultPolicy,
  ...admissionKindRules<V1ValidatingAdmissionPolicy>((check, prev) => validatingSpec(check.value, check.at('spec').with(prev?.spec))),

  subresources: {
    status: {
      keepsMetadata: 'all',
      revalidatesMetadata: false,
      validateUpdate(_next, _prev, check) {
        check.at('status').at('typeChecking').at('expressionWarnings').each(validateExpressionWarning)
        validateConditions(check.at('status').at('conditions'))
      },
    },
  },

  columns: [
    nameColumn,
    {
      name: 'Validations',
      type: 'integer',
      description: 'Validations indicates the number of validation rules defined in this configuration',
      cell: ({ spec }) => spec?.validations?.length ?? 0,
    },
    paramKindColumn,
    ageColumn,
  ],
})

const maxAuditAnnotations = 20
const maxValueExpressionBytes = 5 * 1024

/** The policy around an expression. */
type PolicyContext = {
  name: string
  hasParams: boolean
  variables: PolicyExpression['variables']
  stored: Record<'validation' | 'message' | 'audit', Set<string>>
}

function* validatingSpec(
  { metadata, spec }: V1ValidatingAdmissionPolicy,
  check: Check<V1ValidatingAdmissionPolicySpec | undefined>,
): Steps<void> {
  const prev = check.value
  const hasParams = spec.paramKind != null
  const stored: PolicyContext['stored'] = {
    validation: new Set(prev?.validations?.map(({ expression }) => expression)),
    message: new Set(prev?.validations?.map(({ messageExpression = '' }) => messageExpression)),
    audit: new Set(prev?.auditAnnotations?.map(({ valueExpression }) => valueExpression)),
  }
  validateHead(check.with(spec))
  yield* validatingPolicyMatchConditions(check.with(spec), prev)
  const variables = yield* validatingVariables(check.at('variables').with(spec.variables), { hasParams, stored: stored.validation })
  const policy: PolicyContext = { name: metadata?.name ?? '', hasParams, variables, stored }
  if (!spec.validations?.length && !spec.auditAnnotations?.length) {
    check.at('validations').required('validations or auditAnnotations must contain at least one item')
    check.at('auditAnnotations').required('validations or auditAnnotations must contain at least one item')
    return
  }
  for (const item of check.at('validations').with(spec.validations).items()) {
    validateValidation(item, policy)
    yield
  }
  yield* validatingAuditAnnotations(check.at('auditAnnotations').with(spec.auditAnnotations ?? []), policy)
}

function validateText(
  use: ExpressionUse,
  text: string,
  isStored: boolean,
  check: Check<unknown>,
  { hasParams, variables }: PolicyContext,
  shown?: string,
): void {
  const hasAuthorizer = use !== 'messageExpression'
  validateExpression(check.with({ use, text, hasParams, hasAuthorizer, isStored, variables }), shown)
}

const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']

function validateValidation(check: Check<V1Validation>, policy: PolicyContext): void {
  const validation = check.value
  const { expression = '', message = '', messageExpression = '', reason } = validation
  if (expression.trim() === '') check.at('expression').required('expression is not specified')
  else validateText('validation', expression, policy.stored.validation.has(expression), check.at('expression'), policy)
  if (messageExpression !== '') {
    const isStored = policy.stored.message.has(messageExpression)
    if (messageExpression.trim() === '') check.at('messageExpression').or('').invalid('must be non-empty if specified')
    else validateText('messageExpression', messageExpression, isStored, check.at('messageExpression'), policy)
  }
  if (message !== '' && message.trim() === '') check.at('message').or('').invalid('must be non-empty if specified')
  else if (/[\n\r]/.test(message.trim())) check.at('message').or('').invalid('must not contain line breaks')
  if (reason != null && !reasons.includes(reason)) check.at('reason').notSupported(reasons)
}

function* validatingAuditAnnotations(check: Check<readonly V1AuditAnnotation[]>, policy: PolicyContext): Steps<void> {
  const annotations = check.value
  if (annotations.length > maxAuditAnnotations) {
    const shown = asInternal('[admissionregistration.AuditAnnotation', annotations)
    check.invalid(`must not have more than ${maxAuditAnnotations} auditAnnotations`, shown)
  }
  const keys = new Set<string>()
  for (const item of check.items()) {
    yield
    const { key = '', valueExpression = '' } = item.value
    if (policy.name === '') item.at('key').or('').invalid('requires metadata.name be non-empty')
    else mustBe(qualifiedName, item.at('key').with(`${policy.name}/${key}`))
    const text = valueExpression.trim()
    const value = item.at('valueExpression')
    if (text === '') value.required('valueExpression is not specified')
    else if (byteLength(text) > maxValueExpressionBytes) value.required(`must not exceed ${maxValueExpressionBytes} bytes in length`)
    else validateText('auditAnnotation', text, policy.stored.audit.has(valueExpression), value, policy, valueExpression)
    if (keys.has(key)) item.at('key').or('').duplicate()
    keys.add(key)
  }
}

function validateExpressionWarning(check: Check<V1ExpressionWarning>): void {
  const { warning, fieldRef = '' } = check.value
  if (!warning) check.at('warning').required()
  if (fieldRef.trim() === '') check.at('fieldRef').required()
}
