/** Defaults must be values that the schema they stand in accepts, and nothing it would prune. */
import { createRequire } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import { prune } from '#api/apiextensions/v1/schema/prune.ts'
import { hasOwnRules } from '#api/apiextensions/v1/schema/validate-rules.ts'
import { validateValue } from '#api/apiextensions/v1/schema/validate-value.ts'
import { itemSchema, someSchemaOnce } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { DecodeError } from '#api/codec/decode-error.ts'
import { aggregateMessages, fieldErrorText } from '#api/meta/aggregate.ts'
import { Check } from '#api/meta/check.ts'
import { coerceEmbeddedObject } from '#api/structural/coerce.ts'
import { validateEmbedded } from '#api/structural/embedded-objects.ts'
import { type Fields, type Shape, shapeOf } from '#api/structural/shape.ts'
import type { Steps } from '#base/steps.ts'

type DefaultRules = { readonly mustBePruned: boolean }
/** What is asked about the schema of each default, and is known of those inside by then. */
type Known = DefaultRules & {
  hasRules(schema: V1JSONSchemaProps): boolean
  hasEmbedded(schema: V1JSONSchemaProps): boolean
  withoutIntOrString(schema: V1JSONSchemaProps): V1JSONSchemaProps
}

/** In steps, one for each default. */
export function* validateDefaults(check: Check<V1JSONSchemaProps>, { mustBePruned }: DefaultRules): Steps<void> {
  const known = {
    mustBePruned,
    hasRules: someSchemaOnce(hasOwnRules),
    hasEmbedded: someSchemaOnce((schema) => schema['x-kubernetes-embedded-resource'] === true),
    withoutIntOrString: withoutIntOrString(),
  }
  yield* validateIn(check, known, resourceOf(check.value))
}

/** The resource that a schema lies in, and what it looks like with nothing but a value at this place. */
type Resource = { readonly schema: V1JSONSchemaProps; readonly isMeta: boolean; around(value: unknown): unknown }

function resourceOf(schema: V1JSONSchemaProps): Resource {
  return { schema, isMeta: false, around: (value) => ({ kind: 'Validation', apiVersion: 'validation/v1', ...(value as Fields) }) }
}

function* validateIn(check: Check<V1JSONSchemaProps>, rules: Known, outer: Resource, isRoot = true): Steps<void> {
  const schema = check.value
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  const resource = isEmbedded && !isRoot ? resourceOf(schema) : outer
  if (schema.default != null) {
    validateDefault(check, rules, resource)
    yield
  }
  const { around } = resource
  const items = itemSchema(schema)
  if (items !== undefined) {
    yield* validateIn(check.at('items').with(items), rules, { ...resource, around: (value) => around([value]) }, false)
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const isMeta = resource.isMeta || ((isEmbedded || isRoot) && metaFields.has(name))
    const inside = { ...resource, isMeta, around: (value: unknown) => around({ [name]: value }) }
    yield* validateIn(check.at('properties').key(name).with(property), rules, inside, false)
  }
}

const metaFields = new Set(['metadata', 'apiVersion', 'kind'])

function validateDefault(
  check: Check<V1JSONSchemaProps>,
  { mustBePruned, hasRules, hasEmbedded, withoutIntOrString }: Known,
  resource: Resource,
): void {
  const schema = check.value
  const place = check.at('default')
  if (!resource.isMeta && mustBePruned && hasUnknownFields(schema)) place.invalid('must not have unknown fields')
  const before = check.errors.length
  if (resource.isMeta) {
    const fault = metadataFault(resource.around(structuredClone(schema.default)) as Fields, resource.schema)
    if (fault !== undefined) place.invalid(`must result in valid metadata: ${fault}`)
  }
  if (check.errors.length === before) validateValue(place, withoutIntOrString(schema))
  if (!resource.isMeta && hasEmbedded(schema)) validateEmbedded(schema.default, shapeOf(schema), place)
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
function withoutIntOrString(): Known['withoutIntOrString'] {
  const isMarked = someSchemaOnce((schema) => schema['x-kubernetes-int-or-string'] === true)
  const known = new Map<object, unknown>()
  const without = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const before = known.get(value)
    if (before !== undefined) return before
    const copy = Array.isArray(value)
      ? value.map(without)
      : Object.fromEntries(
          Object.entries(value).flatMap(([key, each]) => (key === 'x-kubernetes-int-or-string' ? [] : [[key, without(each)]])),
        )
    known.set(value, copy)
    return copy
  }
  return (schema) => (isMarked(schema) ? (without(schema) as V1JSONSchemaProps) : schema)
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
