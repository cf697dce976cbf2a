/** What expressions know of a structural schema: its types, and how large values of them can be at most. */

import { isSchema, itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { bool, bytes, type CelType, double, duration, dyn, int, listOf, mapOf, string, struct, timestamp } from '#api/cel/types/cel-type.ts'
import type { StructType } from '#api/cel/types/declarations.ts'
import { escapedName } from '#api/cel/values/escaped-names.ts'
import { append } from '#base/append.ts'

export type SchemaType = {
  readonly type: CelType
  /** Of elements, entries or characters. */
  readonly maxElements: number
  /** In JSON, in bytes: how many of them fit into a request. */
  readonly minSize: number
  readonly element?: SchemaType
  readonly key?: SchemaType
  /** By their escaped names. */
  readonly fields?: ReadonlyMap<string, SchemaType>
  /** Of the type itself and of all inside. */
  readonly structs: readonly StructType[]
}

const maxRequestBytes = 3 * 1024 * 1024
const maxTimeText = 32
const maxDateText = 12

const simple = (type: CelType, minSize: number, maxElements = 0): SchemaType => ({ type, minSize, maxElements, structs: [] })
const limit = (value: number | undefined): number | undefined => (value === undefined ? undefined : Math.max(0, value))

/** Undefined for what expressions do not see. `name` is the type's, for messages; a root has metadata whatever it declares. */
export function schemaType(schema: V1JSONSchemaProps, isResource: boolean, name = 'selfType'): SchemaType | undefined {
  if (schema['x-kubernetes-int-or-string']) return simple(dyn, 1, fourfold(schema.maxLength) ?? maxRequestBytes - 2)
  switch (schema.type) {
    case 'array':
      return arrayType(schema, name)
    case 'object':
      return isSchema(schema.additionalProperties)
        ? mapType(schema, schema.additionalProperties, name)
        : objectType(isResource ? withMetadata(schema) : schema, name)
    case 'string':
      return stringType(schema)
    case 'boolean':
      return simple(bool, 4)
    case 'number':
      return simple(double, 1)
    case 'integer':
      return simple(int, 1)
    default:
      return undefined
  }
}

/** A character may take four bytes. */
const fourfold = (maxLength: number | undefined): number | undefined => {
  const length = limit(maxLength)
  return length === undefined ? undefined : length * 4
}

function stringType({ format, maxLength, enum: values }: V1JSONSchemaProps): SchemaType {
  switch (format) {
    case 'byte':
      return simple(bytes, 2, limit(maxLength) ?? maxRequestBytes - 2)
    case 'duration':
      return simple(duration, 3, maxTimeText)
    case 'date':
      return simple(timestamp, maxDateText, maxDateText)
    case 'date-time':
      return simple(timestamp, 21, maxTimeText)
  }
  const longest = (values ?? []).reduce<number>((max, value) => Math.max(max, typeof value === 'string' ? Buffer.byteLength(value) : 0), 0)
  return simple(string, 2, fourfold(maxLength) ?? (values?.length ? longest : maxRequestBytes - 2))
}

const isEmbedded = (schema: V1JSONSchemaProps): boolean => schema['x-kubernetes-embedded-resource'] === true

function arrayType(schema: V1JSONSchemaProps, name: string): SchemaType | undefined {
  const items = itemSchema(schema)
  const element = items && schemaType(items, isEmbedded(items), `${name}.@idx`)
  if (element === undefined) return undefined
  const maxElements = limit(schema.maxItems) ?? Math.floor((maxRequestBytes - 2) / (element.minSize + 1))
  return { type: listOf(element.type), element, maxElements, minSize: 2, structs: element.structs }
}

function mapType(schema: V1JSONSchemaProps, values: V1JSONSchemaProps, name: string): SchemaType | undefined {
  const element = schemaType(values, isEmbedded(values), `${name}.@elem`)
  if (element === undefined) return undefined
  const maxElements = limit(schema.maxProperties) ?? Math.floor((maxRequestBytes - 2) / (element.minSize + 6))
  return { type: mapOf(string, element.type), key: simple(string, 2), element, maxElements, minSize: 2, structs: element.structs }
}

function objectType({ properties = {}, required = [] }: V1JSONSchemaProps, name: string): SchemaType {
  const fields = new Map<string, SchemaType>()
  const structs: StructType[] = []
  let minSize = 2
  const isRequired = new Set(required)
  for (const [property, schema] of Object.entries(properties)) {
    const escaped = escapedName(property)
    const type = schemaType(schema, isEmbedded(schema), `${name}.${escaped ?? property}`)
    if (type === undefined) continue
    if (escaped !== undefined) {
      fields.set(escaped, type)
      append(structs, type.structs)
    }
    if (isRequired.has(property) && schema.default === undefined) minSize += Buffer.byteLength(property) + type.minSize + 4
  }
  // Most reserved words can be written after a dot as they are.
  const spelled = (field: string) => (Object.hasOwn(properties, field) ? fields.get(`__${field}__`) : undefined)
  structs.push({ name, field: (field) => (fields.get(field) ?? spelled(field))?.type })
  return { type: struct(name), fields, maxElements: 0, minSize, structs }
}

/** What every resource has, whether its schema says so or not. */
export function withMetadata(schema: V1JSONSchemaProps): V1JSONSchemaProps {
  const properties = schema.properties ?? {}
  const { kind, apiVersion, metadata } = properties
  const isText = (each: V1JSONSchemaProps | undefined) => each?.type === 'string'
  if (isText(kind) && isText(apiVersion) && isText(metadata?.properties?.['name']) && isText(metadata?.properties?.['generateName']))
    return schema
  const own = { type: 'string' }
  return {
    ...schema,
    properties: { ...properties, kind: own, apiVersion: own, metadata: { type: 'object', properties: { name: own, generateName: own } } },
  }
}

/** How many values of the type a request can hold. */
export const maxCardinality = ({ minSize }: SchemaType): number => Math.floor(maxRequestBytes / (minSize + 1))

/** The type at a path of fields, `@items`, `@values` and `@keys`. */
export function typeAt(root: SchemaType, path: readonly string[]): SchemaType | undefined {
  let current: SchemaType | undefined = root
  for (const part of path) {
    if (part === '@items' || part === '@values') current = current?.element
    else if (part === '@keys') current = current?.key
    else current = current?.fields?.get(part)
  }
  return current
}
