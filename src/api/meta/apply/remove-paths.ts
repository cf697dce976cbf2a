/** Takes paths out of an object. */
import { isObject, type JsonObject, type JsonValue, setField } from '#api/meta/patch/json-value.ts'
import { type FieldSet, isMember } from './field-set.ts'
import { itemElement, type ListForm, type MapForm, type MergeType, typeOfKey, untypedAtomic } from './merge-type.ts'
import { fieldElement } from './path-element.ts'

/** The object without the members of the set and what is inside them; shares with `object` what is the same. */
export function removePaths(object: JsonObject, paths: FieldSet, type: MergeType): JsonObject {
  const rest = withoutPaths(object, paths, type)
  return isObject(rest) ? rest : {}
}

/** Null for lists and maps of which nothing is left. */
function withoutPaths(value: JsonValue, paths: FieldSet, type: MergeType): JsonValue {
  const form = type.formOf(value)
  if (form === undefined) return value
  if (form.atomic) return null
  if (form.kind === 'list') return Array.isArray(value) ? remainingItems(value, paths, form) : null
  return isObject(value) ? remainingKeys(value, paths, form) : null
}

function remainingKeys(value: JsonObject, paths: FieldSet, map: MapForm): JsonValue {
  const rest: JsonObject = {}
  let left = false
  for (const key in value) {
    const inside = value[key]
    const below = paths[map.fields.get(key)?.element ?? fieldElement(key)]
    if (inside === undefined || (below !== undefined && isMember(below))) continue
    setField(rest, key, below === undefined ? inside : withoutPaths(inside, below, typeOfKey(map, key) ?? untypedAtomic))
    left = true
  }
  return left ? rest : null
}

function remainingItems(items: readonly JsonValue[], paths: FieldSet, list: ListForm): JsonValue {
  const rest: JsonValue[] = []
  for (const item of items) {
    const below = paths[itemElement(list, item)]
    if (below !== undefined && isMember(below)) continue
    rest.push(below === undefined ? item : withoutPaths(item, below, list.element))
  }
  return rest.length > 0 ? rest : null
}
