/** A structural schema, reduced to what pruning, defaulting and the checks of lists and embedded objects look at. */
import { isSchema, itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'

export type Fields = Record<string, unknown>

export type Shape = {
  readonly properties: ReadonlyMap<string, Shape> | undefined
  /** Of the fields that are not among the properties. Undefined: there are none. */
  readonly additional: Shape | undefined
  readonly items: Shape | undefined
  readonly preservesUnknown: boolean
  readonly isEmbedded: boolean
  readonly isNullable: boolean
  /** Shared: to be copied. Undefined where there is none. */
  readonly default: unknown
  readonly listType: 'set' | 'map' | undefined
  readonly listKeys: readonly string[]
  /** The properties that have a default. */
  readonly defaulted: readonly (readonly [string, Shape])[]
  /** Whether there is a default here or below. */
  readonly hasDefaults: boolean
  /** Whether there is an embedded object here or below. */
  readonly hasEmbedded: boolean
  /** Whether there is a set or a map here or below. */
  readonly hasUniqueItems: boolean
}

/** Of what nothing is known: whatever is in it goes. */
export const emptyShape: Shape = {
  properties: undefined,
  additional: undefined,
  items: undefined,
  preservesUnknown: false,
  isEmbedded: false,
  isNullable: false,
  default: undefined,
  listType: undefined,
  listKeys: [],
  defaulted: [],
  hasDefaults: false,
  hasEmbedded: false,
  hasUniqueItems: false,
}
const nullableLeaf: Shape = { ...emptyShape, isNullable: true }
const freeForm: Shape = { ...emptyShape, preservesUnknown: true }
/** Nearly every place of a schema is one of these, so that a large schema makes a small shape. */
const leaves = [emptyShape, nullableLeaf, freeForm]

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

export function shapeOf(schema: V1JSONSchemaProps): Shape {
  const properties = new Map<string, Shape>()
  for (const [name, property] of Object.entries(schema.properties ?? {})) properties.set(name, shapeOf(property))
  const { additionalProperties } = schema
  const additional = additionalProperties == null ? undefined : isSchema(additionalProperties) ? shapeOf(additionalProperties) : emptyShape
  const itemsSchema = itemSchema(schema)
  const items = itemsSchema && shapeOf(itemsSchema)
  const listType = schema['x-kubernetes-list-type']
  const shape: Shape = {
    properties: properties.size === 0 ? undefined : properties,
    additional,
    items,
    preservesUnknown: schema['x-kubernetes-preserve-unknown-fields'] === true,
    isEmbedded: schema['x-kubernetes-embedded-resource'] === true,
    isNullable: schema.nullable === true,
    default: schema.default ?? undefined,
    listType: listType === 'set' || listType === 'map' ? listType : undefined,
    listKeys: schema['x-kubernetes-list-map-keys'] ?? [],
    defaulted: [...properties].filter(([, property]) => property.default !== undefined),
    hasDefaults: false,
    hasEmbedded: false,
    hasUniqueItems: false,
  }
  const inside = [...properties.values(), ...(additional ? [additional] : []), ...(items ? [items] : [])]
  if (inside.length === 0) {
    const known = leaves.find((leaf) => isSameLeaf(leaf, shape))
    if (known !== undefined) return known
  }
  return {
    ...shape,
    hasDefaults: shape.default !== undefined || inside.some(({ hasDefaults }) => hasDefaults),
    hasEmbedded: shape.isEmbedded || inside.some(({ hasEmbedded }) => hasEmbedded),
    hasUniqueItems: shape.listType !== undefined || inside.some(({ hasUniqueItems }) => hasUniqueItems),
  }
}

function isSameLeaf(leaf: Shape, { preservesUnknown, isEmbedded, isNullable, default: standard, listType }: Shape): boolean {
  if (isEmbedded || standard !== undefined || listType !== undefined) return false
  return leaf.preservesUnknown === preservesUnknown && leaf.isNullable === isNullable
}

/** The shape of a field by its name. */
export function fieldShape({ properties, additional }: Shape, name: string): Shape | undefined {
  return properties?.get(name) ?? additional
}
