/** Defaults must be values that the schema they stand in accepts, and nothing it would prune. */
import { isDeepStrictEqual } from 'node:util'
import { prune } from '#api/apiextensions/v1/schema/prune.ts'
import { validateValue } from '#api/apiextensions/v1/schema/validate-value.ts'
import { itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'

export function validateDefaults(schema: V1JSONSchemaProps, check: Check, { mustBePruned }: { mustBePruned: boolean }): void {
  if (schema.default != null) {
    const place = check.at('default')
    if (mustBePruned && hasUnknownFields(schema)) place.invalid(schema.default, 'must not have unknown fields')
    validateValue(schema.default, schema, place)
  }
  const items = itemSchema(schema)
  if (items !== undefined) validateDefaults(items, check.at('items'), { mustBePruned })
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    validateDefaults(property, check.at('properties').key(name), { mustBePruned })
  }
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
