/** Defaults must be values that the schema they stand in accepts, and nothing it would prune. */
import { createRequire } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import { prune } from '#api/apiextensions/v1/schema/prune.ts'
import { hasRules } from '#api/apiextensions/v1/schema/validate-rules.ts'
import { validateValue } from '#api/apiextensions/v1/schema/validate-value.ts'
import { itemSchema, someSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { validateEmbedded } from '#api/structural/embedded-objects.ts'
import { shapeOf } from '#api/structural/shape.ts'

export function validateDefaults(check: Check<V1JSONSchemaProps>, { mustBePruned }: { mustBePruned: boolean }): void {
  const schema = check.value
  if (schema.default != null) {
    const place = check.at('default')
    if (mustBePruned && hasUnknownFields(schema)) place.invalid('must not have unknown fields')
    const before = check.errors.length
    validateValue(place, withoutIntOrString(schema))
    const shape = shapeOf(schema)
    if (shape.hasEmbedded) validateEmbedded(schema.default, shape, place)
    if (check.errors.length === before && hasRules(schema)) judgeByRules(place.with(schema))
  }
  const items = itemSchema(schema)
  if (items !== undefined) validateDefaults(check.at('items').with(items), { mustBePruned })
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    validateDefaults(check.at('properties').key(name).with(property), { mustBePruned })
  }
}

/** Upstream does not look at this when it comes to defaults. */
function withoutIntOrString(schema: V1JSONSchemaProps): V1JSONSchemaProps {
  if (!someSchema(schema, (each) => each['x-kubernetes-int-or-string'] === true)) return schema
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'x-kubernetes-int-or-string' ? undefined : value,
  ) as V1JSONSchemaProps
}

/** As a new value, and as one that replaces itself. */
function judgeByRules(check: Check<V1JSONSchemaProps>): void {
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
