/** Random values for tests of patches: any JSON, and objects of a type of the API. */

import type { JsonObject, JsonValue } from '#api/meta/patch/json-value.ts'
import type { FieldSchema, TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'
import type { Random } from '#base/random.ts'

/** Without nulls, which merge patches cannot add. Keys repeat, so that two objects have something in common. */
export function randomJson(random: Random, depth = 3): JsonObject {
  const object: JsonObject = {}
  for (let count = random.int(5); count > 0; count--) object[`k${random.int(6)}`] = randomValue(random, depth - 1)
  return object
}

function randomValue(random: Random, depth: number): JsonValue {
  const kind = random.int(depth > 0 ? 5 : 3)
  if (kind === 0) return random.int(4)
  if (kind === 1) return `v${random.int(4)}`
  if (kind === 2) return random.int(2) === 0
  if (kind === 3) return Array.from({ length: random.int(3) }, () => randomValue(random, depth - 1))
  return randomJson(random, depth - 1)
}

/** An object of the type, its fields set at random; lists that are maps by key have no key twice, lists of scalars no item. */
export function randomObject(type: TypeSchema, random: Random, depth = 6): JsonObject {
  const object: JsonObject = {}
  for (const field of type.fields) {
    if (field.name === 'managedFields' || random.int(10) >= (field.required ? 9 : 4)) continue
    const value = randomField(field, random, depth - 1)
    if (value !== undefined) object[field.name] = value
  }
  return object
}

function randomField(field: FieldSchema, random: Random, depth: number): JsonValue | undefined {
  const { value } = field
  if (value.kind !== 'list') return randomOf(value, random, depth)
  const items = Array.from({ length: 1 + random.int(3) }, () => randomOf(value.items, random, depth)).filter((item) => item !== undefined)
  const keys = field.patchMergeKey === undefined ? (field.listMapKeys ?? []) : [field.patchMergeKey, ...(field.listMapKeys ?? [])]
  const seen = new Set<string>()
  const distinct = items.filter((item) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return seen.size < seen.add(JSON.stringify(item)).size
    for (const key of keys) item[key] ??= keyOf(value.items, key, random)
    // The first key alone must tell items apart: patches know no other.
    return keys[0] === undefined || seen.size < seen.add(JSON.stringify(item[keys[0]])).size
  })
  return distinct.length > 0 ? distinct : undefined
}

function keyOf(items: ValueSchema, key: string, random: Random): JsonValue {
  const field = items.kind === 'message' ? items.type.fieldsByName.get(key) : undefined
  return (field === undefined ? undefined : randomOf(field.value, random, 1)) ?? `v${random.int(5)}`
}

function randomOf(value: ValueSchema, random: Random, depth: number): JsonValue | undefined {
  switch (value.kind) {
    case 'message':
      return depth > 0 ? randomObject(value.type, random, depth) : undefined
    case 'list': {
      const item = randomOf(value.items, random, depth - 1)
      return item === undefined ? undefined : [item]
    }
    case 'map': {
      // Patches cannot reach into what is in a map.
      if (value.values.kind === 'message' || value.values.kind === 'list' || value.values.kind === 'map') return undefined
      const entries = Array.from(
        { length: 1 + random.int(2) },
        () => [`key${random.int(4)}`, randomOf(value.values, random, depth - 1)] as const,
      )
      const object: JsonObject = {}
      for (const [key, inside] of entries) if (inside !== undefined) object[key] = inside
      return object
    }
    case 'bool':
      return random.int(2) === 0
    case 'int32':
    case 'int64':
    case 'uint64':
    case 'double':
      return 1 + random.int(5)
    case 'rawExtension':
    case 'json':
    case 'any':
    case 'fieldsV1':
    case 'schemaOrArray':
    case 'schemaOrBool':
    case 'schemaOrStringArray':
      return undefined
    default:
      return `v${random.int(5)}`
  }
}
