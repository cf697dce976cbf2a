/** What is known of the form of objects, as far as patches ask: which lists are merged, and by which keys. */
import { parseJson } from '#api/codec/parse-json.ts'
import { readYamlValues } from '#api/codec/yaml-reader.ts'
import { findSchema, schemaNameOf } from '#api/schema/schema.ts'
import type { FieldSchema, TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'
import type { Gvk } from './item.ts'

export type MergeForm = {
  field(name: string): MergeForm | undefined
  items(): MergeForm | undefined
  /** Undefined where a list is replaced; without a key it is one of plain values. */
  mergeKeys?: readonly string[]
}

/** Forms of kinds; undefined for one that nobody described. */
export type MergeForms = (kind: Gvk) => MergeForm | undefined

export const builtInForms: MergeForms = ({ group = '', version = '', kind = '' }) => {
  const name = schemaNameOf({ group, version, kind })
  const type = name === undefined ? undefined : findSchema(name)
  return type === undefined ? undefined : formOfType(type)
}

const formOfType = (type: TypeSchema): MergeForm => ({
  field(name) {
    const field = type.fieldsByName.get(name)
    return field === undefined ? undefined : { ...formOfValue(field.value), ...keysOf(field) }
  },
  items: () => undefined,
})

function keysOf({ value, patchStrategy = '', patchMergeKey, listMapKeys }: FieldSchema): { mergeKeys?: readonly string[] } {
  if (value.kind !== 'list' || !patchStrategy.split(',').includes('merge')) return {}
  return { mergeKeys: listMapKeys ?? (patchMergeKey === undefined ? [] : [patchMergeKey]) }
}

function formOfValue(value: ValueSchema): MergeForm {
  if (value.kind === 'message') return formOfType(value.type)
  return {
    field: () => (value.kind === 'map' ? formOfValue(value.values) : undefined),
    items: () => (value.kind === 'list' ? formOfValue(value.items) : undefined),
  }
}

type OpenApiSchema = {
  $ref?: string
  properties?: Record<string, OpenApiSchema>
  additionalProperties?: OpenApiSchema | boolean
  items?: OpenApiSchema
  'x-kubernetes-patch-strategy'?: string
  'x-kubernetes-patch-merge-key'?: string
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-group-version-kind'?: Gvk[]
}

/** The file of `openapi.path`: it takes the place of what is built in. */
export function formsOfOpenApi(text: string): MergeForms {
  const document = (text.trimStart().startsWith('{') ? parseJson(text) : readYamlValues(text)[0]?.value) as {
    definitions?: Record<string, OpenApiSchema>
  }
  const definitions = document.definitions ?? {}
  const byKind = new Map<string, OpenApiSchema>()
  for (const schema of Object.values(definitions))
    for (const { group = '', version = '', kind = '' } of schema['x-kubernetes-group-version-kind'] ?? [])
      byKind.set(`${group}/${version}/${kind}`, schema)

  const resolved = (schema: OpenApiSchema): OpenApiSchema => {
    const { $ref, ...own } = schema
    return $ref === undefined ? schema : { ...definitions[$ref.slice('#/definitions/'.length)], ...own }
  }
  const formOf = (given: OpenApiSchema): MergeForm => {
    const schema = resolved(given)
    const { 'x-kubernetes-patch-strategy': strategy, 'x-kubernetes-patch-merge-key': key, 'x-kubernetes-list-map-keys': keys } = schema
    return {
      field(name) {
        const { additionalProperties } = schema
        const found = schema.properties?.[name] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
        return found === undefined ? undefined : formOf(found)
      },
      items: () => (schema.items === undefined ? undefined : formOf(schema.items)),
      ...(strategy?.split(',').includes('merge') ? { mergeKeys: keys ?? (key === undefined ? [] : [key]) } : {}),
    }
  }
  return ({ group = '', version = '', kind = '' }) => {
    const schema = byKind.get(`${group}/${version}/${kind}`)
    return schema === undefined ? undefined : formOf(schema)
  }
}
