/** Defaults must be values that the schema they stand in accepts, and nothing it would prune. */
import { createRequire } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import { prune } from '#api/apiextensions/v1/schema/prune.ts'
import { hasRules } from '#api/apiextensions/v1/schema/validate-rules.ts'
import { validateValue } from '#api/apiextensions/v1/schema/validate-value.ts'
import { itemSchema, someSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { DecodeError } from '#api/codec/decode-error.ts'
import { aggregateMessages, fieldErrorText } from '#api/meta/aggregate.ts'
import { Check } from '#api/meta/check.ts'
import { coerceEmbeddedObject } from '#api/structural/coerce.ts'
import { validateEmbedded } from '#api/structural/embedded-objects.ts'
import { type Fields, type Shape, shapeOf } from '#api/structural/shape.ts'

type DefaultRules = { readonly mustBePruned: boolean }

export function validateDefaults(check: Check<V1JSONSchemaProps>, rules: DefaultRules): void {
  validateIn(check, rules, resourceOf(check.value))
}

/** The resource that a schema lies in, and what it looks like with nothing but a value at this place. */
type Resource = { readonly schema: V1JSONSchemaProps; readonly isMeta: boolean; around(value: unknown): unknown }

function resourceOf(schema: V1JSONSchemaProps): Resource {
  return { schema, isMeta: false, around: (value) => ({ kind: 'Validation', apiVersion: 'validation/v1', ...(value as Fields) }) }
}

function validateIn(check: Check<V1JSONSchemaProps>, rules: DefaultRules, outer: Resource, isRoot = true): void {
  const schema = check.value
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  const resource = isEmbedded && !isRoot ? resourceOf(schema) : outer
  if (schema.default != null) validateDefault(check, rules, resource)
  const { around } = resource
  const items = itemSchema(schema)
  if (items !== undefined) {
    validateIn(check.at('items').with(items), rules, { ...resource, around: (value) => around([value]) }, false)
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const isMeta = resource.isMeta || ((isEmbedded || isRoot) && metaFields.has(name))
    const inside = { ...resource, isMeta, around: (value: unknown) => around({ [name]: value }) }
    validateIn(check.at('properties').key(name).with(property), rules, inside, false)
  }
}

const metaFields = new Set(['metadata', 'apiVersion', 'kind'])

function validateDefault(check: Check<V1JSONSchemaProps>, { mustBePruned }: DefaultRules, resource: Resource): void {
  const schema = check.value
  const place = check.at('default')
  if (!resource.isMeta && mustBePruned && hasUnknownFields(schema)) place.invalid('must not have unknown fields')
  const before = check.errors.length
  if (resource.isMeta) {
    const fault = metadataFault(resource.around(structuredClone(schema.default)) as Fields, resource.schema)
    if (fault !== undefined) place.invalid(`must result in valid metadata: ${fault}`)
  }
  if (check.errors.length === before) validateValue(place, withoutIntOrString(schema))
  const shape = shapeOf(schema)
  if (!resource.isMeta && shape.hasEmbedded) validateEmbedded(schema.default, shape, place)
  if (check.errors.length === before && hasRules(schema)) validateByRules(place.with(schema))
}

function metadataFault(object: Fields, schema: V1JSONSchemaProps): string | undefined {
  const shape: Shape = { ...shapeOf(schema), isEmbedded: true, hasEmbedded: true }
  try {
    coerceEmbeddedObject(object, shape)
  } catch (error) {
    if (error instanceof DecodeError) return error.message
    throw error
  }
  const check = new Check(object)
  validateEmbedded(object, shape, check)
  return check.failed ? aggregateMessages(check.errors.map(fieldErrorText)) : undefined
}

/** Upstream does not look at this when it comes to defaults. */
function withoutIntOrString(schema: V1JSONSchemaProps): V1JSONSchemaProps {
  if (!someSchema(schema, (each) => each['x-kubernetes-int-or-string'] === true)) return schema
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'x-kubernetes-int-or-string' ? undefined : value,
  ) as V1JSONSchemaProps
}

/** As a new value, and as one that replaces itself. */
function validateByRules(check: Check<V1JSONSchemaProps>): void {
  const schema = check.value
  const load = createRequire(import.meta.url)
  const { RuleValidator } = load(
    '#api/apiextensions/v1/schema/rule-validator.ts',
  ) as typeof import('#api/apiextensions/v1/schema/rule-validator.ts')
  const validator = RuleValidator.of(schema, schema['x-kubernetes-embedded-resource'] === true)
  const before = check.errors.length
  validator?.validate(schema.default, schema.default, { check })
  if (check.errors.length === before) validator?.validate(schema.default, undefined, { check })
}

function hasUnknownFields(schema: V1JSONSchemaProps): boolean {
  const pruned = structuredClone(schema.default)
  prune(pruned, schema)
  return !isDeepStrictEqual(pruned, schema.default)
}

/** Whether a schema that is already stored has such defaults; an update may then have them too. */
export function hasUnprunedDefault(schema: V1JSONSchemaProps): boolean {
  if (schema.default != null && hasUnknownFields(schema)) return true
  const items = itemSchema(schema)
  return (items !== undefined && hasUnprunedDefault(items)) || Object.values(schema.properties ?? {}).some(hasUnprunedDefault)
}
