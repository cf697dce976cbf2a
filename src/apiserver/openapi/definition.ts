/** A type of the API as a JSON schema. */

import { describe } from '#api/schema/describe.ts'
import { findSchema } from '#api/schema/schema.ts'
import type { FieldSchema, LeafKind, TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'
import { append } from '#base/append.ts'
import type { Steps } from '#base/steps.ts'
import type { CustomTypes } from './custom-definition.ts'
import type { Dialect, SchemaObject } from './dialect.ts'
import { namedLeaves, schemaOrNames, specialTypes } from './special-types.ts'

const plainLeaves: Partial<Record<LeafKind, SchemaObject>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  uint64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
  duration: { type: 'string' },
  any: { type: 'object' },
}

/** A definition, and the names of the types it speaks of. */
export type Definition = { schema: SchemaObject; references: ReadonlySet<string> }

export type DefinitionOptions = {
  dialect: Dialect
  /** Kinds that belong to every group (DeleteOptions, WatchEvent) are listed under these alone. */
  listsGroupVersion?(group: string, version: string): boolean
  /** Types that are told of at run time. */
  custom?: CustomTypes
}

/** Undefined where there is no such type, those told of at run time aside. */
export function definitionOf(typeName: string, options: DefinitionOptions): Definition | undefined {
  const { dialect } = options
  const references = new Set<string>()
  const special = specialTypes[typeName]
  if (special !== undefined) {
    const own = dialect.version === 3 ? (special.v3 ?? special.v2) : special.v2
    return { schema: { description: special.text, ...own }, references }
  }
  const type = findSchema(typeName)
  return type && { schema: structSchema(type, options, references), references }
}

function structSchema(type: TypeSchema, { dialect, listsGroupVersion }: DefinitionOptions, references: Set<string>): SchemaObject {
  const schema: SchemaObject = { ...described(describe(type.name)), type: 'object' }
  if (type.fields.length > 0) {
    const properties: SchemaObject = {}
    for (const field of [...type.fields].sort((one, other) => (one.name < other.name ? -1 : 1))) {
      properties[field.name] = fieldSchema(type, field, dialect, references)
    }
    schema['properties'] = properties
  }
  const required = type.fields.filter((field) => field.required).map(({ name }) => name)
  if (required.length > 0) schema['required'] = required
  const everywhere = type.groupVersionKinds
  const kinds =
    everywhere.length > 1 && listsGroupVersion ? everywhere.filter((kind) => listsGroupVersion(kind.group, kind.version)) : everywhere
  if (kinds.length > 0) schema['x-kubernetes-group-version-kind'] = kinds.map(({ group, version, kind }) => ({ group, kind, version }))
  if (type.mapType !== undefined) schema['x-kubernetes-map-type'] = type.mapType
  if (type.unions.length > 0) schema['x-kubernetes-unions'] = type.unions
  return schema
}

function fieldSchema(type: TypeSchema, field: FieldSchema, dialect: Dialect, references: Set<string>): SchemaObject {
  const { value, listType, listMapKeys, mapType, patchStrategy, patchMergeKey } = field
  const beside: SchemaObject = described(fieldText(type, field))
  const zero = field.omitEmpty && value.kind !== 'message' ? undefined : zeroOf(value)
  const standard = field.default ?? zero
  if (dialect.hasDefaults && standard !== undefined) beside['default'] = standard as SchemaObject
  if (field.enum !== undefined && value.kind !== 'list') beside['enum'] = field.enum
  if (listMapKeys !== undefined) beside['x-kubernetes-list-map-keys'] = listMapKeys
  if (listType !== undefined) beside['x-kubernetes-list-type'] = listType
  if (mapType !== undefined) beside['x-kubernetes-map-type'] = mapType
  if (patchMergeKey !== undefined) beside['x-kubernetes-patch-merge-key'] = patchMergeKey
  if (patchStrategy !== undefined) beside['x-kubernetes-patch-strategy'] = patchStrategy
  return valueSchema(value, beside, dialect, references, field)
}

function fieldText(type: TypeSchema, field: FieldSchema): string {
  const { value } = field
  const text = describe(type.name, field.name)
  // Readers are shown the text of the type as well: once is enough.
  if (value.kind === 'message' && text === describe(value.type.name)) return ''
  if (field.enum === undefined) return text
  const values = field.enum.map((value) => ` - \`${JSON.stringify(value)}\``).join('\n')
  return `${text === '' ? '' : `${text}\n\n`}Possible enum values:\n${values}`
}

function valueSchema(
  value: ValueSchema,
  beside: SchemaObject,
  dialect: Dialect,
  references: Set<string>,
  field: Pick<FieldSchema, 'itemsDefault' | 'enum'>,
): SchemaObject {
  const refer = (name: string) => {
    references.add(name)
    return dialect.refer(name, beside)
  }
  switch (value.kind) {
    case 'list':
      return { ...beside, items: itemSchema(value.items, dialect, references, field), type: 'array' }
    case 'map':
      return { ...beside, additionalProperties: itemSchema(value.values, dialect, references, field), type: 'object' }
    case 'message':
      return refer(value.type.name)
    case 'schemaOrArray':
    case 'schemaOrBool':
    case 'schemaOrStringArray':
      return refer(schemaOrNames[value.kind])
    default: {
      const name = namedLeaves[value.kind]
      return name === undefined ? { ...beside, ...plainLeaves[value.kind] } : refer(name)
    }
  }
}

function itemSchema(
  value: ValueSchema,
  dialect: Dialect,
  references: Set<string>,
  field: Pick<FieldSchema, 'itemsDefault' | 'enum'>,
): SchemaObject {
  const beside: SchemaObject = {}
  const zero = field.itemsDefault ?? zeroOf(value)
  if (dialect.hasDefaults && zero !== undefined && value.kind !== 'list' && value.kind !== 'map') beside['default'] = zero as SchemaObject
  if (field.enum !== undefined && value.kind === 'string') beside['enum'] = field.enum
  return valueSchema(value, beside, dialect, references, field)
}

/** Go cannot tell an absent value that is no pointer from its zero, so documents call the zero its default. */
function zeroOf(value: ValueSchema): SchemaObject | string | number | boolean | undefined {
  return value.pointer ? undefined : zeros[value.kind]
}

const zeros: Partial<Record<ValueSchema['kind'], SchemaObject | string | number | boolean>> = {
  string: '',
  bool: false,
  int32: 0,
  int64: 0,
  double: 0,
  message: {},
}

function described(text: string): SchemaObject {
  return text === '' ? {} : { description: text }
}

/** The definitions that these types need, themselves included, in order of name; in steps. */
export function* definitionsFor(typeNames: Iterable<string>, options: DefinitionOptions): Steps<[name: string, schema: SchemaObject][]> {
  const found = new Map<string, SchemaObject>()
  const seen = new Set<string>()
  const waiting = [...typeNames]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (seen.has(name)) continue
    seen.add(name)
    const custom = options.custom?.get(name)
    const definition = custom === undefined ? definitionOf(name, options) : yield* custom(options.dialect)
    yield
    if (definition === undefined) continue
    found.set(name, definition.schema)
    append(waiting, definition.references)
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1))
}
