/** Validates an object of a custom kind by its schema, in upstream's order. */

import { validateValue } from '#api/apiextensions/v1/schema/validate-value.ts'
import type { V1CustomResourceSubresourceScale } from '#api/apiextensions/v1/types.gen.ts'
import { integerAt, textAt } from '#api/custom-kinds/field-access.ts'
import type { VersionSchema } from '#api/custom-kinds/version-schema.ts'
import { Check, type DynamicCheck, type FieldErrorType } from '#api/meta/check.ts'
import type { KubernetesObject, RuleContext } from '#api/resource.ts'
import { validateEmbedded } from '#api/structural/embedded-objects.ts'
import { validateUniqueItems } from '#api/structural/list-types.ts'
import type { Fields } from '#api/structural/shape.ts'
import { append } from '#base/append.ts'
import type { Steps } from '#base/steps.ts'

export type ObjectRules = { readonly schema: VersionSchema; readonly scale: V1CustomResourceSubresourceScale | undefined }

type Warn = RuleContext['warn']

export function* validateNew(object: KubernetesObject, { schema, scale }: ObjectRules, check: DynamicCheck): Steps<void> {
  validateValue(check.with(object), schema.schema)
  yield
  validateScaleSpec(object, scale, check)
  validateScaleStatus(object, scale, check)
  validateEmbedded(object, { ...schema.shape, isEmbedded: false }, check)
  yield
  validateUniqueItems(object, schema.shape, check)
  yield
  validateByRules(object, undefined, schema, check, undefined)
}

export function* validateChange(
  next: KubernetesObject,
  prev: KubernetesObject,
  { schema, scale }: ObjectRules,
  check: DynamicCheck,
  warn: Warn,
): Steps<void> {
  validateValue(check.with(next), schema.schema, { old: prev })
  yield
  validateScaleSpec(next, scale, check)
  validateScaleStatus(next, scale, check)
  validateEmbedded(next, { ...schema.shape, isEmbedded: false }, check)
  yield
  validateChangedItems(next, prev, schema, check)
  yield
  validateByRules(next, prev, schema, check, warn)
}

/** Through the status subresource: only the status is looked at, but for the rules, which may speak of everything. */
export function* validateStatusChange(
  next: KubernetesObject,
  prev: KubernetesObject,
  { schema, scale }: ObjectRules,
  check: DynamicCheck,
  warn: Warn,
): Steps<void> {
  const [status, before] = [(next as Fields)['status'], (prev as Fields)['status']]
  const statusSchema = schema.schema.properties?.['status']
  if (status !== undefined && statusSchema !== undefined) {
    validateValue(check.at('status').with(status), statusSchema, before === undefined ? undefined : { old: before })
  }
  validateScaleStatus(next, scale, check)
  yield
  validateChangedItems(next, prev, schema, check)
  yield
  validateByRules(next, prev, schema, check, warn)
}

/** What was wrong before may stay wrong. */
function validateChangedItems(next: KubernetesObject, prev: KubernetesObject, { shape }: VersionSchema, check: DynamicCheck): void {
  if (!shape.hasUniqueItems) return
  const found: DynamicCheck = new Check<unknown>()
  validateUniqueItems(next, shape, found)
  if (!found.failed) return
  const before: DynamicCheck = new Check<unknown>()
  validateUniqueItems(prev, shape, before)
  if (!before.failed) append(check.errors, found.errors)
}

const blocking: ReadonlySet<FieldErrorType> = new Set<FieldErrorType>([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

/** Rules are written for objects of the right shape. */
function validateByRules(
  next: KubernetesObject,
  prev: KubernetesObject | undefined,
  schema: VersionSchema,
  check: DynamicCheck,
  warn: Warn,
): void {
  const { rules } = schema
  if (rules === undefined) return
  if (check.errors.some(({ type }) => blocking.has(type))) {
    check.invalid(
      'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
      null,
    )
  } else rules.validate(next, prev, { check, warn })
}

const maxReplicas = 2 ** 31 - 1

function validateScaleSpec(object: KubernetesObject, scale: V1CustomResourceSubresourceScale | undefined, check: DynamicCheck): void {
  if (scale !== undefined) validateReplicas(object, scale.specReplicasPath, check)
}

function validateScaleStatus(object: KubernetesObject, scale: V1CustomResourceSubresourceScale | undefined, check: DynamicCheck): void {
  if (scale === undefined) return
  validateReplicas(object, scale.statusReplicasPath, check)
  if (!scale.labelSelectorPath) return
  const { error } = textAt(object, scale.labelSelectorPath)
  if (error !== undefined) check.at(scale.labelSelectorPath).invalid(error, '')
}

function validateReplicas(object: KubernetesObject, path: string, check: DynamicCheck): void {
  const { value = 0, error } = integerAt(object, path)
  const place = check.at(path)
  if (error !== undefined) place.invalid(error, 0)
  else if (value < 0) place.invalid('should be a non-negative integer', value)
  else if (value > maxReplicas) place.invalid(`should be less than or equal to ${maxReplicas}`, value)
}
