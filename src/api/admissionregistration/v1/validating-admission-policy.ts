import { type ExpressionUse, validateExpression } from '#api/admissionregistration/v1/compile-expression.ts'
import { ValidatingAdmissionPolicy } from '#api/admissionregistration/v1/kinds.gen.ts'
import { defaultMatchResources } from '#api/admissionregistration/v1/match-resources.ts'
import { paramKindCell } from '#api/admissionregistration/v1/parameters.ts'
import { validateHead, validatePolicyMatchConditions, validateVariables } from '#api/admissionregistration/v1/policy.ts'
import { staticSuffixWarnings, validateStaticSuffix } from '#api/admissionregistration/v1/static-suffix.ts'
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
import { each } from '#api/meta/each.ts'
import { byteLength, mustBe, nameIsDns1123Subdomain, qualifiedName } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { putBack } from '#api/meta/put-back.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { resetObjectMetaForStatus } from '#api/meta/reset-object-meta-for-status.ts'
import { defineResource } from '#api/resource.ts'

/** Expressions that every matching request must satisfy. */
export const validatingAdmissionPolicyResource = defineResource(ValidatingAdmissionPolicy, {
  finalizers: 'any',
  generation: 'spec',
  rejudgesMetadata: false,
  resetFields: ['status'],

  defaults(policy) {
    policy.spec ??= {}
    policy.spec.failurePolicy ??= 'Fail'
    defaultMatchResources(policy.spec.matchConstraints)
  },
  prepareForCreate(policy) {
    policy.status = {}
  },
  prepareForUpdate: (next, prev) => putBack(next, prev, 'status'),
  validate(policy, check, context) {
    validateSpec(policy, undefined, check.at('spec'))
    validateStaticSuffix(policy, check, context)
  },
  validateUpdate(next, prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Cluster', nameRule: nameIsDns1123Subdomain, finalizers: 'any' }, check.at('metadata'))
    validateSpec(next, prev.spec, check.at('spec'))
  },
  warningsOnCreate: staticSuffixWarnings,
  warningsOnUpdate: staticSuffixWarnings,

  subresources: {
    status: {
      resetFields: ['spec', 'metadata'],
      rejudgesMetadata: false,
      prepareForUpdate(next, prev) {
        putBack(next, prev, 'spec')
        resetObjectMetaForStatus(next.metadata, prev.metadata)
      },
      validateUpdate({ status }, _prev, check) {
        each(status?.typeChecking?.expressionWarnings, check.at('status.typeChecking.expressionWarnings'), validateExpressionWarning)
        validateConditions(status?.conditions, check.at('status.conditions'))
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
    {
      name: 'ParamKind',
      type: 'string',
      description: 'ParamKind specifies the kind of resources used to parameterize this policy',
      cell: ({ spec }) => paramKindCell(spec?.paramKind),
    },
    ageColumn,
  ],
})

const maxAuditAnnotations = 20
const maxValueExpressionBytes = 5 * 1024

/** The policy around an expression. */
type Surroundings = { name: string; spec: V1ValidatingAdmissionPolicySpec; stored: Record<'validation' | 'message' | 'audit', Set<string>> }

function validateSpec(
  { metadata, spec }: V1ValidatingAdmissionPolicy,
  prev: V1ValidatingAdmissionPolicySpec | undefined,
  check: Check,
): void {
  const policy: Surroundings = {
    name: metadata?.name ?? '',
    spec,
    stored: {
      validation: new Set(prev?.validations?.map(({ expression }) => expression)),
      message: new Set(prev?.validations?.map(({ messageExpression = '' }) => messageExpression)),
      audit: new Set(prev?.auditAnnotations?.map(({ valueExpression }) => valueExpression)),
    },
  }
  validateHead(spec, check)
  validatePolicyMatchConditions(spec, prev, check)
  validateVariables(spec.variables, check.at('variables'), { hasParams: spec.paramKind != null, stored: policy.stored.validation })
  if (!spec.validations?.length && !spec.auditAnnotations?.length) {
    check.at('validations').required('validations or auditAnnotations must contain at least one item')
    check.at('auditAnnotations').required('validations or auditAnnotations must contain at least one item')
    return
  }
  each(spec.validations, check.at('validations'), (validation, item) => validateValidation(validation, item, policy))
  validateAuditAnnotations(spec.auditAnnotations ?? [], check.at('auditAnnotations'), policy)
}

function validateText(use: ExpressionUse, text: string, isStored: boolean, check: Check, { spec }: Surroundings, shown?: string): void {
  const hasAuthorizer = use !== 'messageExpression'
  validateExpression(
    { use, text, hasParams: spec.paramKind != null, hasAuthorizer, isStored, variables: spec.variables ?? [] },
    check,
    shown,
  )
}

const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']

function validateValidation(validation: V1Validation, check: Check, policy: Surroundings): void {
  const { expression = '', message = '', messageExpression = '', reason } = validation
  if (expression.trim() === '') check.at('expression').required('expression is not specified')
  else validateText('validation', expression, policy.stored.validation.has(expression), check.at('expression'), policy)
  if (messageExpression !== '') {
    const isStored = policy.stored.message.has(messageExpression)
    if (messageExpression.trim() === '') check.at('messageExpression').invalid(messageExpression, 'must be non-empty if specified')
    else validateText('messageExpression', messageExpression, isStored, check.at('messageExpression'), policy)
  }
  if (message !== '' && message.trim() === '') check.at('message').invalid(message, 'must be non-empty if specified')
  else if (/[\n\r]/.test(message.trim())) check.at('message').invalid(message, 'must not contain line breaks')
  if (reason != null && !reasons.includes(reason)) check.at('reason').notSupported(reason, reasons)
}

function validateAuditAnnotations(annotations: readonly V1AuditAnnotation[], check: Check, policy: Surroundings): void {
  if (annotations.length > maxAuditAnnotations) {
    const shown = asInternal('[admissionregistration.AuditAnnotation', annotations)
    check.invalid(shown, `must not have more than ${maxAuditAnnotations} auditAnnotations`)
  }
  const keys = new Set<string>()
  each(annotations, check, ({ key = '', valueExpression = '' }, item) => {
    if (policy.name === '') item.at('key').invalid(key, 'requires metadata.name be non-empty')
    else mustBe(qualifiedName, `${policy.name}/${key}`, item.at('key'))
    const text = valueExpression.trim()
    const value = item.at('valueExpression')
    if (text === '') value.required('valueExpression is not specified')
    else if (byteLength(text) > maxValueExpressionBytes) value.required(`must not exceed ${maxValueExpressionBytes} bytes in length`)
    else validateText('auditAnnotation', text, policy.stored.audit.has(valueExpression), value, policy, valueExpression)
    if (keys.has(key)) item.at('key').duplicate(key)
    keys.add(key)
  })
}

function validateExpressionWarning({ warning, fieldRef = '' }: V1ExpressionWarning, check: Check): void {
  if (!warning) check.at('warning').required()
  if (fieldRef.trim() === '') check.at('fieldRef').required()
}
