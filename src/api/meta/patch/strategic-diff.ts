/** The strategic merge patch between two objects, as kubectl computes it. */
import { deepCopy } from '#api/meta/deep-copy.ts'
import type { TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'
import { goPrint } from './go-print.ts'
import { equalJson, fieldOf, isObject, type JsonObject, type JsonValue, setField } from './json-value.ts'
import { asObject, holdObjects, identityBy, mergeKeyOf, sortedLike } from './merged-list.ts'
import { PatchError } from './patch-error.ts'
import { asValue, listField, objectField, type PatchField } from './patch-schema.ts'
import { deleteFromList, directive, elementOrder, mergeObject, retainKeys } from './strategic-merge.ts'

/** Which differences become part of the patch. */
type Differences = { additions: boolean; deletions: boolean }

/** The patch that makes `modified` of `original`. */
export function createTwoWayMergePatch(original: JsonObject, modified: JsonObject, type: TypeSchema): JsonObject {
  return diffObjects(original, modified, asValue(type), { additions: true, deletions: true }, false)
}

/**
 * The patch that brings `current` to `modified`, and deletes what was in `original` and is no longer wanted; what
 * others added to `current` stays. With `overwrite: false`, refuses to change what others changed since `original`.
 */
export function createThreeWayMergePatch(
  original: JsonObject,
  modified: JsonObject,
  current: JsonObject,
  type: TypeSchema,
  { overwrite = true }: { overwrite?: boolean } = {},
): JsonObject {
  const root = asValue(type)
  const changes = diffObjects(current, modified, root, { additions: true, deletions: false }, false)
  const deletions = diffObjects(original, modified, root, { additions: false, deletions: true }, false)
  const patch = mergeObject(deletions, changes, root, 'combine')
  if (!overwrite) {
    const changed = diffObjects(original, current, root, { additions: true, deletions: true }, false)
    if (conflict(patch, changed, root, '', '')) {
      const [ours, theirs] = [JSON.stringify(patch, null, 2), JSON.stringify(changed, null, 2)]
      throw new PatchError('internal', `patch:\n${ours}\nconflicts with changes made from original to current:\n${theirs}\n`)
    }
  }
  return patch
}

function diffObjects(original: JsonObject, modified: JsonObject, type: ValueSchema, wanted: Differences, lists: boolean): JsonObject {
  const patch: JsonObject = {}
  for (const key in modified) {
    const after = modified[key]
    if (after === undefined) continue
    const before = fieldOf(original, key)
    if (before !== undefined && equalJson(before, after) && !Array.isArray(before)) continue
    if (isObject(before) && isObject(after)) diffField(patch, key, before, after, type, wanted)
    else if (Array.isArray(before) && Array.isArray(after)) diffList(patch, key, before, after, type, wanted)
    else if (wanted.additions) setField(patch, key, deepCopy(after))
  }
  if (wanted.deletions) {
    for (const key in original) if (original[key] !== undefined && fieldOf(modified, key) === undefined) setField(patch, key, null)
  }
  if (lists) listRetainedKeys(patch, original, modified)
  return patch
}

/** Fields that are not among those listed are cleared; without changes there is nothing to say. */
function listRetainedKeys(patch: JsonObject, original: JsonObject, modified: JsonObject): void {
  const retained = Object.keys(modified).filter((key) => modified[key] !== null && modified[key] !== undefined)
  const dropped = Object.keys(original).some((key) => original[key] != null && fieldOf(modified, key) === undefined)
  if (retained.length > 0 && (Object.keys(patch).length > 0 || dropped)) patch[retainKeys] = retained.sort()
}

function diffField(patch: JsonObject, key: string, before: JsonObject, after: JsonObject, type: ValueSchema, wanted: Differences): void {
  const field = objectField(type, key)
  if (field.strategy === 'replace') {
    if (wanted.additions) setField(patch, key, deepCopy(after))
    return
  }
  const changes = diffObjects(before, after, field.value, wanted, field.retainKeys)
  if (Object.keys(changes).length > 0) setField(patch, key, changes)
}

function diffList(patch: JsonObject, key: string, before: JsonValue[], after: JsonValue[], type: ValueSchema, wanted: Differences): void {
  // What does not differ needs no schema, but merged lists of scalars may get an order all the same.
  const same = equalJson(before, after)
  if (same && before.length === 0) return
  let field: PatchField
  try {
    field = listField(type, key)
  } catch (error) {
    if (same) return
    throw error
  }
  if (field.strategy !== 'merge') {
    if (wanted.additions && !same) setField(patch, key, deepCopy(after))
    return
  }
  const { changes, deletions, order } = diffMergedList(before, after, field, wanted)
  if (changes.length > 0) setField(patch, key, deepCopy(changes))
  if (deletions.length > 0) patch[`${deleteFromList}/${key}`] = deletions
  if (order.length > 0) patch[`${elementOrder}/${key}`] = deepCopy(order)
}

type ListChanges = { changes: JsonValue[]; deletions: JsonValue[]; order: JsonValue[] }

function diffMergedList(before: JsonValue[], after: JsonValue[], field: PatchField, wanted: Differences): ListChanges {
  if (before.length === 0) return { changes: wanted.additions ? after : [], deletions: [], order: [] }
  return holdObjects(before, after) ? diffItems(before, after, field, wanted) : diffScalars(before, after, wanted)
}

function diffScalars(before: readonly JsonValue[], after: JsonValue[], wanted: Differences): ListChanges {
  const sorted = sortedByText(before)
  const gone = new Set(after)
  const deletions = wanted.deletions ? [...new Set(sorted)].filter((item) => !gone.has(item)) : []
  const changes = wanted.additions ? sortedLike(surplus(sorted, after), after, identityBy('')) : []
  // The old list is compared in sorted form, so that an unsorted list that did not change still gets its order: as upstream.
  const reordered = wanted.additions && !equalJson(sorted, after)
  return { changes, deletions, order: deletions.length > 0 || reordered ? after : [] }
}

/** Items of `after` beyond those of `before`, counting repetitions. */
function surplus(before: readonly JsonValue[], after: readonly JsonValue[]): JsonValue[] {
  const left = new Map<JsonValue, number>()
  for (const item of before) left.set(item, (left.get(item) ?? 0) + 1)
  return sortedByText(after).filter((item) => {
    const count = left.get(item) ?? 0
    if (count > 0) left.set(item, count - 1)
    return count === 0
  })
}

function sortedByText(items: readonly JsonValue[]): JsonValue[] {
  const text = (item: JsonValue): string => goPrint(item)
  return [...items].sort((a, b) => (text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0))
}

function diffItems(before: readonly JsonValue[], after: readonly JsonValue[], field: PatchField, wanted: Differences): ListChanges {
  const { mergeKey } = field
  const keyOf = (item: JsonValue): JsonValue => mergeKeyOf(asObject(item), mergeKey)
  const earlier = new Map(before.map((item) => [keyOf(item), asObject(item)]))
  const later = new Set(after.map(keyOf))
  const changes: JsonValue[] = []
  for (const item of after) {
    const key = keyOf(item)
    const old = earlier.get(key)
    if (old === undefined) {
      if (wanted.additions) changes.push(item)
      continue
    }
    const change = diffObjects(old, asObject(item), field.value, wanted, field.retainKeys)
    if (Object.keys(change).length > 0) changes.push({ ...change, [mergeKey]: key })
  }
  if (wanted.deletions) {
    const gone = [...earlier.keys()].filter((key) => !later.has(key))
    for (const key of sortedByText(gone)) changes.push({ [mergeKey]: key, [directive]: 'delete' })
  }
  const sameOrder = before.length === after.length && before.every((item, index) => keyOf(item) === keyOf(after[index] as JsonValue))
  const says = changes.length > 0 || (wanted.additions && !sameOrder)
  return { changes, deletions: [], order: says ? after.map((item) => ({ [mergeKey]: keyOf(item) })) : [] }
}

/** Whether the two patches want different things of the same field. */
function conflict(left: JsonValue, right: JsonValue, type: ValueSchema, strategy: string, mergeKey: string): boolean {
  if (isObject(left) && isObject(right)) {
    if (!equalJson(fieldOf(left, directive), fieldOf(right, directive))) return true
    return strategy !== 'replace' && objectsConflict(left, right, type)
  }
  if (!Array.isArray(left) || !Array.isArray(right)) return !equalJson(left, right)
  const objects = holdObjects(left, right)
  if (strategy !== 'merge') {
    if (left.length !== right.length) return true
    if (!objects) return !equalJson(sortedByText(left), sortedByText(right))
    return left.some((item, index) => conflict(item, right[index] ?? null, type, '', ''))
  }
  if (!objects) return false
  const others = new Map(right.map((item) => [mergeKeyOf(asObject(item), mergeKey), item]))
  return left.some((item) => {
    const other = others.get(mergeKeyOf(asObject(item), mergeKey))
    return other !== undefined && conflict(item, other, type, '', '')
  })
}

function objectsConflict(left: JsonObject, right: JsonObject, type: ValueSchema): boolean {
  return Object.keys(left).some((key) => {
    const [ours, theirs] = [fieldOf(left, key), fieldOf(right, key)]
    if (key === directive || key === retainKeys || ours === undefined || theirs === undefined) return false
    const isDirective = key.startsWith(deleteFromList) || key.startsWith(elementOrder)
    if (typeof ours !== 'object' || ours === null || isDirective) return !equalJson(ours, theirs)
    const field = Array.isArray(ours) ? listField(type, key) : objectField(type, key)
    return conflict(ours, theirs, field.value, field.strategy, field.mergeKey)
  })
}
