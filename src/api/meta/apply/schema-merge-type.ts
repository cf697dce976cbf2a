/** Merge types of the built-in kinds, from their schema. */
import type { JsonObject, JsonValue } from '#api/meta/patch/json-value.ts'
import type { FieldSchema, MapType, TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'
import { deducedType, lazyList, lazyMap, MergeType, untypedAtomic } from './merge-type.ts'

/** Kinds of values whose inside the schema of patches does not look into. */
type LeafName = Exclude<ValueSchema['kind'], 'message' | 'list' | 'map'>

type Compiled = { declared?: MergeType; atomic?: MergeType; granular?: MergeType }

const compiled = new WeakMap<TypeSchema, Compiled>()

/** A field can make its struct atomic, or granular again, whatever the struct says of itself. */
export function mergeTypeOf(type: TypeSchema, asField?: MapType): MergeType {
  let variants = compiled.get(type)
  if (variants === undefined) {
    variants = {}
    compiled.set(type, variants)
  }
  const variant = asField ?? 'declared'
  variants[variant] ??= structType(type, (asField ?? type.mapType) === 'atomic')
  return variants[variant]
}

function structType(type: TypeSchema, atomic: boolean): MergeType {
  const names = type.fields.map((field) => field.name)
  return new MergeType({ map: lazyMap(atomic, names, (name) => typeOfField(type.fieldsByName.get(name) as FieldSchema)) })
}

function typeOfField(field: FieldSchema): MergeType {
  const { value } = field
  if (value.kind === 'message') return mergeTypeOf(value.type, field.mapType)
  if (value.kind === 'map') return new MergeType({ map: lazyMap(field.mapType === 'atomic', [], untyped, () => typeOfItem(value.values)) })
  if (value.kind === 'list') {
    const keys = listKeys(field)
    const defaultOf = (key: string): JsonValue | undefined => defaultIn(value.items, key)
    return new MergeType({ list: lazyList(keys === undefined, keys ?? [], () => typeOfItem(value.items), defaultOf) })
  }
  return leafTypes[value.kind]
}

function untyped(): MergeType {
  return untypedAtomic
}

/** Undefined for lists that are owned as a whole. Lists that say nothing but how patches merge them follow that. */
function listKeys({ listType, listMapKeys, patchStrategy, patchMergeKey }: FieldSchema): readonly string[] | undefined {
  if (listType === 'map') return listMapKeys ?? []
  if (listType === 'set') return []
  if (listType === undefined && patchStrategy?.split(',').includes('merge')) return patchMergeKey === undefined ? [] : [patchMergeKey]
  return undefined
}

function defaultIn(items: ValueSchema, key: string): JsonValue | undefined {
  return items.kind === 'message' ? (items.type.fieldsByName.get(key)?.default as JsonValue | undefined) : undefined
}

function typeOfItem(value: ValueSchema): MergeType {
  if (value.kind === 'message') return mergeTypeOf(value.type)
  if (value.kind === 'map') return new MergeType({ map: lazyMap(false, [], untyped, () => typeOfItem(value.values)) })
  if (value.kind === 'list') {
    return new MergeType({
      list: lazyList(
        true,
        [],
        () => typeOfItem(value.items),
        () => undefined,
      ),
    })
  }
  return leafTypes[value.kind]
}

const text = new MergeType({ scalar: 'string' })
const numeric = new MergeType({ scalar: 'numeric' })
const boolean = new MergeType({ scalar: 'boolean' })
const anyScalar = new MergeType({ scalar: 'untyped' })
const freeForm = new MergeType({
  map: lazyMap(false, [], untyped, () => deducedType),
})

const leafTypes: Readonly<Record<LeafName, MergeType>> = {
  string: text,
  bytes: text,
  duration: text,
  bool: boolean,
  int32: numeric,
  int64: numeric,
  uint64: numeric,
  double: numeric,
  time: anyScalar,
  microTime: anyScalar,
  quantity: anyScalar,
  rawExtension: untypedAtomic,
  fieldsV1: freeForm,
  // Their schemas name no type at all.
  intOrString: deducedType,
  json: deducedType,
  schemaOrArray: deducedType,
  schemaOrBool: deducedType,
  schemaOrStringArray: deducedType,
  any: deducedType,
}

const empties = new WeakMap<TypeSchema, JsonObject>()

/**
 * An object of the type before anybody wrote to it, as Go writes its zero value. Structs are there from the start, so
 * that nobody comes to own them by filling them.
 */
export function emptyObject(type: TypeSchema): JsonObject {
  let empty = empties.get(type)
  if (empty === undefined) {
    empty = {}
    for (const field of type.fields) {
      const value = zeroOf(field)
      if (value !== undefined) empty[field.name] = value
    }
    empties.set(type, Object.freeze(empty))
  }
  return empty
}

function zeroOf({ value, omitEmpty, omitZero }: FieldSchema): JsonValue | undefined {
  if (omitZero) return undefined
  if (value.pointer || value.kind === 'list' || value.kind === 'map' || value.kind === 'bytes') return omitEmpty ? undefined : null
  if (value.kind === 'message') return emptyObject(value.type)
  const zero = zeroes[value.kind]
  // Only what is no struct in Go can be left out when empty.
  return omitEmpty && typeof zero !== 'object' && !structs.has(value.kind) ? undefined : zero
}

const structs: ReadonlySet<LeafName> = new Set(['quantity', 'intOrString', 'duration'])

const zeroes: Readonly<Record<LeafName, JsonValue>> = {
  string: '',
  bytes: null,
  duration: '0s',
  bool: false,
  int32: 0,
  int64: 0,
  uint64: 0,
  double: 0,
  time: null,
  microTime: null,
  quantity: '0',
  rawExtension: null,
  fieldsV1: null,
  intOrString: 0,
  json: null,
  schemaOrArray: null,
  schemaOrBool: null,
  schemaOrStringArray: null,
  any: null,
}
