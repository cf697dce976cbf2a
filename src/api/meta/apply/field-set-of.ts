/** Every path that an applied configuration speaks of: what its applier comes to own. */
import type { JsonObject, JsonValue } from '#api/meta/patch/json-value.ts'
import { type FieldSet, type FieldSetDraft, leaf, withMember } from './field-set.ts'
import { itemElement, type ListForm, type MapForm, type MergeType, typeOfKey, untypedAtomic } from './merge-type.ts'
import type { PathElement } from './path-element.ts'

/** Structs belong to nobody, only what is in them; keys of maps and items of lists are owned themselves. */
export function fieldSetOf(object: JsonObject, type: MergeType): FieldSet {
  return pathsIn(object, type) ?? {}
}

/** The node of a value; undefined where there is nothing to own: null, and what is empty. */
function pathsIn(value: JsonValue, type: MergeType): FieldSet | undefined {
  const form = type.formOf(value)
  if (form === undefined || form.atomic) return leaf
  if (form.kind === 'list') return Array.isArray(value) ? itemPaths(value, form) : undefined
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? keyPaths(value, form) : undefined
}

function keyPaths(value: JsonObject, map: MapForm): FieldSet | undefined {
  let node: FieldSetDraft | undefined
  for (const key in value) {
    const inside = value[key]
    if (inside === undefined) continue
    const field = map.fields.get(key)
    let below = pathsIn(inside, field?.type ?? typeOfKey(map, key) ?? untypedAtomic)
    if (field === undefined || inside === null || isEmptyMap(inside)) below = below === undefined ? leaf : withMember(below)
    if (below === undefined) continue
    node ??= {}
    node[field?.element ?? `f:${key}`] = below
  }
  return node
}

function isEmptyMap(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  for (const key in value) if (value[key] !== undefined) return false
  return true
}

function itemPaths(items: readonly JsonValue[], list: ListForm): FieldSet | undefined {
  let node: FieldSetDraft | undefined
  const seen = new Map<PathElement, number>()
  for (const item of items) {
    const element = itemElement(list, item)
    const before = seen.get(element) ?? 0
    seen.set(element, before + 1)
    node ??= {}
    // Of items that share their keys no insides can be told apart.
    node[element] = before > 0 ? leaf : withMember(pathsIn(item, list.element) ?? leaf)
  }
  return node
}
