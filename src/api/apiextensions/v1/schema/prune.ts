/** Drops the fields of a value that its schema does not know. */
import { isSchema, itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'

type Fields = Record<string, unknown>

const metaFields = new Set(['apiVersion', 'kind', 'metadata'])

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Changes the value in place. */
export function prune(value: unknown, schema: V1JSONSchemaProps | undefined): void {
  pruneIn(value, schema, schema?.['x-kubernetes-preserve-unknown-fields'] === true)
}

/** What is preserved stays, but for what lies under fields that the schema does declare. */
function pruneIn(value: unknown, schema: V1JSONSchemaProps | undefined, preserves: boolean): void {
  if (Array.isArray(value)) {
    const items = schema === undefined ? undefined : itemSchema(schema)
    if (preserves && items === undefined) return
    for (const item of value) pruneIn(item, items, preserves || items?.['x-kubernetes-preserve-unknown-fields'] === true)
    return
  }
  if (!isFields(value)) return
  for (const name of Object.keys(value)) {
    if (schema?.['x-kubernetes-embedded-resource'] === true && metaFields.has(name)) continue
    const property = schema?.properties?.[name]
    const { additionalProperties } = schema ?? {}
    if (property !== undefined) prune(value[name], property)
    else if (additionalProperties != null) prune(value[name], isSchema(additionalProperties) ? additionalProperties : undefined)
    else if (!preserves) delete value[name]
  }
}
