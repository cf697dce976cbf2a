/** Merge types of custom resources, from the schema in their definition. */
import type { JsonValue } from '#api/meta/patch/json-value.ts'
import { schemaOf } from '#api/schema/schema.ts'
import { deducedType, type ListForm, lazyList, lazyMap, type MapForm, MergeType, untypedAtomic } from './merge-type.ts'
import { mergeTypeOf } from './schema-merge-type.ts'

/** What of a structural schema decides how values merge. */
export type StructuralSchema = {
  readonly type?: string
  readonly format?: string
  readonly default?: JsonValue
  readonly properties?: Readonly<Record<string, StructuralSchema>>
  readonly additionalProperties?: StructuralSchema | boolean
  readonly items?: StructuralSchema
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
  readonly 'x-kubernetes-list-type'?: string
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: string
}

/** The type of a whole custom resource; without a schema that is `deducedType`. */
export function customResourceType(schema: StructuralSchema, { preserveUnknownFields = false } = {}): MergeType {
  return typeOf({ ...schema, type: 'object', 'x-kubernetes-embedded-resource': true }, preserveUnknownFields)
}

/** `preserve`: whether unknown fields are let in, which schemas hand down to their parts. */
function typeOf(schema: StructuralSchema, inherited: boolean): MergeType {
  const preserve = inherited || schema['x-kubernetes-preserve-unknown-fields'] === true
  switch (schema.type) {
    case 'object':
      return new MergeType({ map: mapOf(schema, preserve) })
    case 'array':
      return new MergeType({ list: listOf(schema, preserve) })
    case 'integer':
    case 'number':
      return new MergeType({ scalar: 'numeric' })
    case 'boolean':
      return new MergeType({ scalar: 'boolean' })
    case 'string':
      return new MergeType({ scalar: schema.format === undefined || schema.format === 'byte' ? 'string' : 'untyped' })
    default:
      return new MergeType({ scalar: 'untyped', list: listOf(schema, preserve), map: mapOf(schema, preserve) })
  }
}

const text = new MergeType({ scalar: 'string' })

/** What every object of the API has. */
const objectFields: Readonly<Record<string, () => MergeType>> = {
  apiVersion: () => text,
  kind: () => text,
  metadata: () => mergeTypeOf(schemaOf('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta')),
}

function mapOf(schema: StructuralSchema, preserve: boolean): MapForm {
  const { properties = {}, additionalProperties } = schema
  const own = schema['x-kubernetes-embedded-resource'] === true ? objectFields : {}
  const names = new Set([...Object.keys(properties), ...Object.keys(own)])
  const fieldType = (name: string): MergeType => own[name]?.() ?? typeOf(properties[name] ?? {}, preserve)
  const atomic = schema['x-kubernetes-map-type'] === 'atomic'
  return lazyMap(atomic, names, fieldType, elementOf(additionalProperties, preserve || Object.keys(properties).length === 0, preserve))
}

function elementOf(
  additional: StructuralSchema | boolean | undefined,
  freeForm: boolean,
  preserve: boolean,
): (() => MergeType) | undefined {
  if (typeof additional === 'object') return () => typeOf(additional, preserve)
  return additional === true || (additional === undefined && freeForm) ? () => deducedType : undefined
}

function listOf(schema: StructuralSchema, preserve: boolean): ListForm {
  const { items } = schema
  const listType = schema['x-kubernetes-list-type']
  const keys = listType === 'map' ? (schema['x-kubernetes-list-map-keys'] ?? []) : []
  const atomic = listType !== 'map' && listType !== 'set'
  const element = (): MergeType => (items === undefined ? untypedAtomic : typeOf(items, preserve))
  return lazyList(atomic, keys, element, (key) => items?.properties?.[key]?.default)
}
