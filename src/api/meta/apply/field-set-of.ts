/** Every path that an applied configuration speaks of: what its applier comes to own. */
import type { JsonObject, JsonValue } from '#api/meta/patch/json-value.ts'
import type { Steps } from '#base/steps.ts'
import { type FieldSet, type FieldSetDraft, leaf, withMember } from './field-set.ts'
import { itemElement, type ListForm, type MapForm, type MergeType, untypedAtomic } from './merge-type.ts'
import { fieldElement } from './path-element.ts'

/** Structs belong to nobody, only what is in them; keys of maps and items of lists are owned themselves. */
export function fieldSetOf(object: JsonObject, type: MergeType): FieldSet {
  return nodeOf(object, type, false, false) ?? {}
}

/** As `fieldSetOf`, in steps of some hundred entries where lists and maps are long. */
export function* fieldSetInSteps(object: JsonObject, type: MergeType): Steps<FieldSet> {
  return (yield* nodeInSteps(object, type, false)) ?? {}
}

/** Whatever lies in longer lists is looked at without further steps. */
const shortList = 16
const stepEntries = 1000

/** The same with structs as members: every path that there is in the object. */
export function allPathsOf(object: JsonObject, type: MergeType): FieldSet {
  return nodeOf(object, type, false, true) ?? {}
}

/** The node of a value, a member if it is to be one; undefined where it is not, and there is nothing in it to own. */
function nodeOf(value: JsonValue, type: MergeType, member: boolean, structs: boolean): FieldSet | undefined {
  const form = type.formOf(value)
  if (form === undefined || form.atomic) return leaf
  let node: FieldSet | undefined
  if (form.kind === 'list') {
    if (Array.isArray(value)) node = itemNodes(value, form, member, structs)
  } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) node = keyNodes(value, form, member, structs)
  return node ?? (member ? leaf : undefined)
}

function keyNodes(value: JsonObject, map: MapForm, member: boolean, structs: boolean): FieldSet | undefined {
  let node: FieldSetDraft | undefined
  for (const key in value) {
    const inside = value[key]
    if (inside === undefined) continue
    const field = map.fields.get(key)
    const isOwn = isOwnedItself(field, inside)
    let below = nodeOf(inside, field?.type ?? map.element ?? untypedAtomic, isOwn, structs)
    if (below === undefined) continue
    if (structs && !isOwn) below = withMember(below)
    node ??= member ? { '.': leaf } : {}
    node[field?.element ?? fieldElement(key)] = below
  }
  return node
}

function isOwnedItself(field: object | undefined, inside: JsonValue): boolean {
  return field === undefined || inside === null || isEmptyMap(inside)
}

function isEmptyMap(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  for (const key in value) if (value[key] !== undefined) return false
  return true
}

function itemNodes(items: readonly JsonValue[], list: ListForm, member: boolean, structs: boolean): FieldSet | undefined {
  if (items.length === 0) return undefined
  const node: FieldSetDraft = member ? { '.': leaf } : {}
  addItems(node, items, list, structs)
  return node
}

/** Of items that share their keys no insides can be told apart. */
function addItems(node: FieldSetDraft, items: readonly JsonValue[], list: ListForm, structs: boolean): void {
  for (const item of items) {
    const element = itemElement(list, item)
    node[element] = node[element] === undefined ? (nodeOf(item, list.element, true, structs) ?? leaf) : leaf
  }
}

function* nodeInSteps(value: JsonValue, type: MergeType, member: boolean): Steps<FieldSet | undefined> {
  const form = type.formOf(value)
  if (form === undefined || form.atomic) return leaf
  let node: FieldSet | undefined
  if (form.kind === 'list') {
    if (Array.isArray(value)) node = yield* itemsInSteps(value, form, member)
  } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) node = yield* keysInSteps(value, form, member)
  return node ?? (member ? leaf : undefined)
}

function* keysInSteps(value: JsonObject, map: MapForm, member: boolean): Steps<FieldSet | undefined> {
  let node: FieldSetDraft | undefined
  let count = 0
  for (const key in value) {
    if (++count % stepEntries === 0) yield
    const inside = value[key]
    if (inside === undefined) continue
    const field = map.fields.get(key)
    const type = field?.type ?? map.element ?? untypedAtomic
    const isOwn = isOwnedItself(field, inside)
    const below = typeof inside === 'object' ? yield* nodeInSteps(inside, type, isOwn) : nodeOf(inside, type, isOwn, false)
    if (below === undefined) continue
    node ??= member ? { '.': leaf } : {}
    node[field?.element ?? fieldElement(key)] = below
  }
  return node
}

function* itemsInSteps(items: readonly JsonValue[], list: ListForm, member: boolean): Steps<FieldSet | undefined> {
  if (items.length > shortList) {
    const node: FieldSetDraft = member ? { '.': leaf } : {}
    for (let from = 0; from < items.length; from += stepEntries) {
      if (from > 0) yield
      addItems(node, items.slice(from, from + stepEntries), list, false)
    }
    return node
  }
  if (items.length === 0) return undefined
  const node: FieldSetDraft = member ? { '.': leaf } : {}
  for (const item of items) {
    const element = itemElement(list, item)
    node[element] = node[element] === undefined ? ((yield* nodeInSteps(item, list.element, true)) ?? leaf) : leaf
  }
  return node
}
