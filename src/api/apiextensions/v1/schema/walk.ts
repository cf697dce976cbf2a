/** Goes through a schema and everything in it. */
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'

/** Whether the schema, or any schema inside, is of this kind. */
export function someSchema(schema: V1JSONSchemaProps | undefined | null, is: (schema: V1JSONSchemaProps) => boolean): boolean {
  if (schema == null) return false
  return is(schema) || schemasInside(schema).some((each) => someSchema(each, is))
}

/** As `someSchema` for many schemas of which some lie in others: each of them is looked at once. */
export function someSchemaOnce(is: (schema: V1JSONSchemaProps) => boolean): (schema: V1JSONSchemaProps) => boolean {
  const known = new Map<V1JSONSchemaProps, boolean>()
  const some = (schema: V1JSONSchemaProps): boolean => {
    const before = known.get(schema)
    if (before !== undefined) return before
    const found = is(schema) || schemasInside(schema).some((each) => each != null && some(each))
    known.set(schema, found)
    return found
  }
  return some
}

function schemasInside(schema: V1JSONSchemaProps): V1JSONSchemaProps[] {
  return [
    ...itemSchemas(schema),
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.not == null ? [] : [schema.not]),
    ...Object.values(schema.properties ?? {}),
    ...[schema.additionalProperties, schema.additionalItems].filter(isSchema),
    ...Object.values(schema.patternProperties ?? {}),
    ...Object.values(schema.definitions ?? {}),
    ...Object.values(schema.dependencies ?? {}).filter(isSchema),
  ]
}

function itemSchemas({ items }: V1JSONSchemaProps): V1JSONSchemaProps[] {
  if (items == null) return []
  return Array.isArray(items) ? items : [items]
}

/** The one schema of all items; a list of them is no structural schema. */
export function itemSchema({ items }: V1JSONSchemaProps): V1JSONSchemaProps | undefined {
  return items == null || Array.isArray(items) ? undefined : items
}

export function isSchema(value: unknown): value is V1JSONSchemaProps {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
