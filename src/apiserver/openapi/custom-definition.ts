/** The types of custom resources as documents show them: the schema of the definition, and what every object has. */

import { isSchema, itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { isStructural } from '#api/custom-kinds/version-schema.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { describe } from '#api/schema/describe.ts'
import { listKindOf } from '#api/scheme.ts'
import { defined } from '#base/defined.ts'
import type { Steps } from '#base/steps.ts'
import type { Definition } from './definition.ts'
import type { Dialect, SchemaObject } from './dialect.ts'

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
/** Whose texts for what every object has are as good as any. */
const anyKind = 'io.k8s.api.core.v1.Pod'

/** `com.example.v1.Widget`, and the name of its list. */
export function customTypeNames(definition: ResourceDefinition): { object: string; list: string } {
  const prefix = [...definition.group.split('.').reverse(), definition.version].join('.')
  return { object: `${prefix}.${definition.kind}`, list: `${prefix}.${listKindOf(definition)}` }
}

/** In steps: a schema may be large. */
export type CustomTypes = ReadonlyMap<string, (dialect: Dialect) => Steps<Definition>>

export function customTypesOf(definitions: Iterable<ResourceDefinition>): CustomTypes {
  const types = new Map<string, (dialect: Dialect) => Steps<Definition>>()
  for (const definition of definitions) {
    if (definition.untyped === undefined) continue
    const { object, list } = customTypeNames(definition)
    types.set(object, (dialect) => objectDefinition(definition, dialect))
    types.set(list, (dialect) => oneStep(listDefinition(definition, object, dialect)))
  }
  return types
}

function* oneStep(definition: Definition): Steps<Definition> {
  yield
  return definition
}

function* objectDefinition(definition: ResourceDefinition, dialect: Dialect): Steps<Definition> {
  const references = new Set<string>()
  const untyped = definition.untyped
  const schema = untyped?.schema.schema ?? {}
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true || untyped?.schema.keepsUnknown === true
  // Clients of old would refuse every field that is not named, so that nothing is, where any will do.
  const isKnown = Object.keys(schema).length > 0 && isStructural(schema) && !(dialect.version === 2 && isOpen)
  yield
  const shown: SchemaObject = isKnown
    ? withMeta(yield* schemaObject(schema, { dialect, references }), dialect, references)
    : { type: 'object' }
  const { group, kind, version, fieldSelectors = {} } = definition
  shown['x-kubernetes-group-version-kind'] = [{ group, kind, version }]
  const selectable = Object.keys(fieldSelectors)
  if (dialect.version === 3 && selectable.length > 0)
    shown['x-kubernetes-selectable-fields'] = selectable.map((fieldPath) => ({ fieldPath }))
  return { schema: shown, references }
}

function listDefinition(definition: ResourceDefinition, itemType: string, dialect: Dialect): Definition {
  const { group, kind, version, plural, fieldSelectors = {} } = definition
  const listKind = listKindOf(definition)
  const references = new Set([itemType, `${meta}.ListMeta`])
  const selectable = Object.keys(fieldSelectors)
  const schema: SchemaObject = {
    description: `${listKind} is a list of ${kind}`,
    type: 'object',
    properties: {
      ...typeProperties(),
      items: { description: `List of ${plural}. More info: ${conventions}`, items: dialect.refer(itemType, {}), type: 'array' },
      metadata: dialect.refer(`${meta}.ListMeta`, { description: listMetadataText }),
    },
    required: ['items'],
    'x-kubernetes-group-version-kind': [{ group, kind: listKind, version }],
    ...defined({
      'x-kubernetes-selectable-fields':
        dialect.version === 3 && selectable.length > 0 ? selectable.map((fieldPath) => ({ fieldPath })) : undefined,
    }),
  }
  return { schema, references }
}

const described = (text: string): SchemaObject => (text === '' ? {} : { description: text })

/** Shown beside the type's own: people look for these words, and conformance tests do. */
const conventions = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md'
const metadataText = `Standard object's metadata. More info: ${conventions}#metadata`
const listMetadataText = `Standard list metadata. More info: ${conventions}#types-kinds`

function typeProperties(): SchemaObject {
  const text = (name: string): SchemaObject => ({ ...described(describe(anyKind, name)), type: 'string' })
  return { apiVersion: text('apiVersion'), kind: text('kind') }
}

function withMeta(schema: SchemaObject, dialect: Dialect, references: Set<string>): SchemaObject {
  references.add(`${meta}.ObjectMeta`)
  const metadata = dialect.refer(`${meta}.ObjectMeta`, { description: metadataText })
  return { ...schema, properties: { ...(schema['properties'] as SchemaObject | undefined), ...typeProperties(), metadata } }
}

/** Copied as they are. */
const plainKeys = [
  'description',
  'title',
  'type',
  'format',
  'default',
  'nullable',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'multipleOf',
  'enum',
  'maxProperties',
  'minProperties',
  'required',
  'externalDocs',
  'example',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
] as const satisfies readonly (keyof V1JSONSchemaProps)[]

const junctors = ['allOf', 'anyOf', 'oneOf'] as const

type Writing = { readonly dialect: Dialect; readonly references: Set<string> }

/** So many properties are a step. */
const stepProperties = 200

function* schemaObject(schema: V1JSONSchemaProps, writing: Writing): Steps<SchemaObject> {
  const { dialect, references } = writing
  const shown: SchemaObject = {}
  for (const key of plainKeys) if (schema[key] != null) shown[key] = schema[key] as SchemaObject
  const isV2 = dialect.version === 2
  const isOpaque = isV2 && (schema.nullable === true || schema['x-kubernetes-preserve-unknown-fields'] === true)
  const items = itemSchema(schema)
  if (items !== undefined && !isOpaque) shown['items'] = yield* schemaObject(items, writing)
  if (schema.properties !== undefined && !isOpaque) shown['properties'] = yield* propertiesObject(schema.properties, writing)
  const { additionalProperties } = schema
  if (additionalProperties != null)
    shown['additionalProperties'] = isSchema(additionalProperties)
      ? yield* schemaObject(additionalProperties, writing)
      : (additionalProperties as unknown as boolean)
  if (isV2) simplify(shown, schema)
  else {
    for (const key of junctors) if (schema[key]?.length) shown[key] = yield* schemaObjects(schema[key] ?? [], writing)
    if (schema.not != null) shown['not'] = yield* schemaObject(schema.not, writing)
    if (schema['x-kubernetes-int-or-string'] === true && schema.anyOf === undefined && schema.allOf === undefined)
      shown['anyOf'] = [{ type: 'integer' }, { type: 'string' }]
  }
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  if (!isEmbedded || (isV2 && schema['x-kubernetes-preserve-unknown-fields'] === true)) return shown
  const required = schema.required ?? []
  return {
    ...withMeta(shown, dialect, references),
    required: [...required, ...['kind', 'apiVersion'].filter((name) => !required.includes(name))],
  }
}

function* propertiesObject(properties: NonNullable<V1JSONSchemaProps['properties']>, writing: Writing): Steps<SchemaObject> {
  const inside: [string, SchemaObject][] = []
  for (const [name, each] of Object.entries(properties)) {
    inside.push([name, yield* schemaObject(each, writing)])
    if (inside.length % stepProperties === 0) yield
  }
  // Whatever its name, a property is one of the object's own.
  return Object.fromEntries(inside)
}

function* schemaObjects(schemas: readonly V1JSONSchemaProps[], writing: Writing): Steps<SchemaObject[]> {
  const shown: SchemaObject[] = []
  for (const each of schemas) shown.push(yield* schemaObject(each, writing))
  return shown
}

/** Version 2 knows neither null nor choices, and its clients take a list without items, or an open object, for a mistake. */
function simplify(shown: SchemaObject, schema: V1JSONSchemaProps): void {
  delete shown['nullable']
  delete shown['default']
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true
  if (schema.nullable || (shown['items'] === undefined && schema.type === 'array') || (isOpen && schema.type === 'object'))
    delete shown['type']
  const required = (schema.required ?? []).filter((name) => schema.properties?.[name]?.nullable !== true)
  if (required.length === 0) delete shown['required']
  else shown['required'] = required
}
