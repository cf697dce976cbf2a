/** What one write changes, as sets of paths: the ground on which ownership moves. */
import { equalJson, fieldOf, isObject, type JsonObject, type JsonValue } from '#api/meta/patch/json-value.ts'
import { longestRemembered } from '#base/remembered.ts'
import { emptySet, type FieldSet, type FieldSetDraft, leaf, ordered, unionOfNodes } from './field-set.ts'
import { deducedType, itemElement, type ListForm, type MapForm, type MergeType } from './merge-type.ts'
import { fieldElement, type PathElement } from './path-element.ts'

/** No path is in two of the sets; if all are empty the objects are the same. */
export type Comparison = { readonly removed: FieldSet; readonly modified: FieldSet; readonly added: FieldSet }

/** From `before` to `after`, both of the same type; fields the schema does not know count like others. Throws on list items that have no keys. */
export function compareObjects(before: JsonObject, after: JsonObject, type: MergeType): Comparison {
  const changes = compareValues(before, after, type)
  return { removed: changes?.removed ?? emptySet, modified: changes?.modified ?? emptySet, added: changes?.added ?? emptySet }
}

/** The changes below one value: nodes, so that a leaf says the value itself. Made only where there are any. */
class Changes {
  removed: FieldSetDraft | undefined
  modified: FieldSetDraft | undefined
  added: FieldSetDraft | undefined

  constructor(removed?: FieldSet, modified?: FieldSet, added?: FieldSet) {
    this.removed = removed
    this.modified = modified
    this.added = added
  }
}

const modifiedLeaf = new Changes(undefined, leaf, undefined)

/** Collects the changes of the parts of a list or map; each part is told once. */
class ChangesBelow {
  readonly changes = new Changes()

  add(element: PathElement, below: Changes): void {
    if (below.removed !== undefined) this.removed(element, below.removed)
    if (below.modified !== undefined) this.modified(element, below.modified)
    if (below.added !== undefined) this.added(element, below.added)
  }

  removed(element: PathElement, below: FieldSet): void {
    this.changes.removed ??= {}
    this.changes.removed[element] = below
  }

  modified(element: PathElement, below: FieldSet): void {
    this.changes.modified ??= {}
    this.changes.modified[element] = below
  }

  added(element: PathElement, below: FieldSet): void {
    this.changes.added ??= {}
    this.changes.added[element] = below
  }
}

function compareValues(before: JsonValue, after: JsonValue, type: MergeType): Changes | undefined {
  if (before === after) return undefined
  if (typeof before !== 'object' && typeof after !== 'object') return modifiedLeaf
  const [was, is] = [type.formOf(before), type.formOf(after)]
  if (was === is || !type.isMixed) return compareForms(before, after, is)
  // Of a type that holds anything, one form gives way to the other: both are told.
  const [first, second] = [compareForms(before, after, was), compareForms(before, after, is)]
  return first === undefined || second === undefined ? (first ?? second) : bothOf(first, second)
}

function bothOf(first: Changes, second: Changes): Changes {
  const join = (a: FieldSet | undefined, b: FieldSet | undefined) => (a === undefined || b === undefined ? (a ?? b) : unionOfNodes(a, b))
  return new Changes(join(first.removed, second.removed), join(first.modified, second.modified), join(first.added, second.added))
}

function compareForms(before: JsonValue, after: JsonValue, form: ListForm | MapForm | undefined): Changes | undefined {
  if (form === undefined || form.atomic) return equalJson(before, after) ? undefined : modifiedLeaf
  return form.kind === 'map'
    ? compareMaps(isObject(before) ? before : undefined, isObject(after) ? after : undefined, form, before, after)
    : compareLists(Array.isArray(before) ? before : undefined, Array.isArray(after) ? after : undefined, form, before, after)
}

function compareMaps(
  before: JsonObject | undefined,
  after: JsonObject | undefined,
  map: MapForm,
  beforeValue: JsonValue,
  afterValue: JsonValue,
): Changes | undefined {
  // Where nothing is inside, empty and null are told apart as scalars are.
  if (isBlank(before) && isBlank(after)) return equalJson(beforeValue, afterValue) ? undefined : modifiedLeaf
  let below: ChangesBelow | undefined
  for (const key in after) {
    const now = after[key]
    if (now === undefined) continue
    const was = before === undefined ? undefined : fieldOf(before, key)
    if (was === now) continue
    const field = map.fields.get(key)
    const type = field?.type ?? map.element ?? deducedType
    if (was === undefined) {
      below ??= new ChangesBelow()
      below.added(field?.element ?? fieldElement(key), allOf(now, type))
      continue
    }
    const changes = compareValues(was, now, type)
    if (changes === undefined) continue
    below ??= new ChangesBelow()
    below.add(field?.element ?? fieldElement(key), changes)
  }
  for (const key in before) {
    const was = before[key]
    if (was === undefined || (after !== undefined && fieldOf(after, key) !== undefined)) continue
    const field = map.fields.get(key)
    below ??= new ChangesBelow()
    below.removed(field?.element ?? fieldElement(key), allOf(was, field?.type ?? map.element ?? deducedType))
  }
  return below?.changes
}

function isBlank(map: JsonObject | undefined): boolean {
  if (map === undefined) return true
  for (const key in map) if (map[key] !== undefined) return false
  return true
}

function compareLists(
  before: JsonValue[] | undefined,
  after: JsonValue[] | undefined,
  list: ListForm,
  beforeValue: JsonValue,
  afterValue: JsonValue,
): Changes | undefined {
  const [was, is] = [before ?? [], after ?? []]
  if (was.length === 0 && is.length === 0) return equalJson(beforeValue, afterValue) ? undefined : modifiedLeaf
  if (itemsAreSame(was, is)) return undefined
  const earlier = itemsByElement(was, list)
  const later = itemsByElement(is, list)
  const below = new ChangesBelow()
  for (const [element, items] of earlier) compareItems(element, items, later.get(element) ?? [], list.element, below)
  for (const [element, items] of later) if (!earlier.has(element)) compareItems(element, [], items, list.element, below)
  const { removed, modified, added } = below.changes
  return removed === undefined && modified === undefined && added === undefined ? undefined : below.changes
}

/** The common case, at little cost: nothing changed, or the list is nobody's business. */
function itemsAreSame(before: readonly JsonValue[], after: readonly JsonValue[]): boolean {
  return before.length === after.length && before.every((item, index) => equalJson(item, after[index]))
}

function itemsByElement(items: readonly JsonValue[], list: ListForm): Map<PathElement, JsonValue[]> {
  const found = new Map<PathElement, JsonValue[]>()
  for (const [index, item] of items.entries()) {
    let element: PathElement
    try {
      element = itemElement(list, item)
    } catch (error) {
      throw new Error(`element ${index}: ${(error as Error).message}`)
    }
    const same = found.get(element)
    if (same === undefined) found.set(element, [item])
    else same.push(item)
  }
  return found
}

/** Items with the same keys are, as long as there are several of them, one thing without an inside. */
function compareItems(element: PathElement, before: JsonValue[], after: JsonValue[], type: MergeType, below: ChangesBelow): void {
  const [was, is] = [before[0], after[0]]
  if (before.length > 1 && after.length > 1) {
    if (!equalJson(before, after)) below.modified(element, leaf)
  } else if (before.length > 1) {
    if (is !== undefined) below.added(element, allOf(is, type))
    below.removed(element, leaf)
  } else if (after.length > 1) {
    if (was !== undefined) below.removed(element, allOf(was, type))
    below.added(element, leaf)
  } else if (was !== undefined && is !== undefined) {
    const changes = compareValues(was, is, type)
    if (changes !== undefined) below.add(element, changes)
  } else if (is !== undefined) below.added(element, allOf(is, type))
  else if (was !== undefined) below.removed(element, allOf(was, type))
}

/** The paths of a value that came or went as a whole: itself, and all that can be owned below it. */
function allOf(value: JsonValue, type: MergeType): FieldSet {
  if (typeof value !== 'object' || value === null) return leaf
  const form = type.formOf(value)
  if (form === undefined || form.atomic) return leaf
  if (Array.isArray(value)) return form.kind === 'map' || value.length === 0 ? leaf : allItems(value, form)
  return form.kind === 'map' ? allFields(value, form) : leaf
}

function allFields(value: JsonObject, map: MapForm): FieldSet {
  const flat = flatFields(value, map)
  if (flat !== undefined) return flat
  const node: FieldSetDraft = { '.': leaf }
  let below = false
  for (const key in value) {
    const field = value[key]
    if (field === undefined) continue
    const known = map.fields.get(key)
    node[known?.element ?? fieldElement(key)] = allOf(field, known?.type ?? map.element ?? deducedType)
    below = true
  }
  return below ? node : leaf
}

/**
 * Of structs with nothing in them that has parts, such as conditions: they come by the dozen and have the same few fields, so that one set
 * serves all that have them, in its order for good.
 */
function flatFields(value: JsonObject, map: MapForm): FieldSet | undefined {
  if (map.fields.size === 0) return undefined
  let names = ''
  for (const key in value) {
    const field = value[key]
    if (field === undefined) continue
    if ((typeof field === 'object' && field !== null) || !map.fields.has(key)) return undefined
    names += `${key},`
  }
  if (names === '') return leaf
  let sets = flatSets.get(map)
  if (sets === undefined) {
    sets = new Map()
    flatSets.set(map, sets)
  }
  let set = sets.get(names)
  if (set === undefined) {
    const elements = names.slice(0, -1).split(',').map(fieldElement)
    set = ordered(Object.fromEntries([['.', leaf], ...elements.map((element) => [element, leaf])]) as FieldSet)
    if (names.length <= longestRemembered) {
      if (sets.size >= mostFlatSets) sets.clear()
      sets.set(names, set)
    }
  }
  return set
}

const mostFlatSets = 200
const flatSets = new WeakMap<MapForm, Map<string, FieldSet>>()

function allItems(items: readonly JsonValue[], list: ListForm): FieldSet {
  const node: FieldSetDraft = { '.': leaf }
  for (const [element, same] of itemsByElement(items, list)) {
    node[element] = same.length > 1 ? leaf : allOf(same[0] as JsonValue, list.element)
  }
  return node
}
