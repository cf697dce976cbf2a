/** Strategic merge patches: JSON merge patches that know which lists are maps, and take directives. */
import { deepCopy } from '#api/meta/deep-copy.ts'
import type { ValueSchema } from '#api/schema/type-schema.ts'
import { goPrint, goString } from './go-print.ts'
import { equalJson, fieldOf, isObject, type JsonObject, type JsonValue, setField } from './json-value.ts'
import {
  asList,
  asObject,
  holdObjects,
  type Identity,
  identityBy,
  interleaved,
  mergeKeyOf,
  partition,
  requireMergeKeys,
} from './merged-list.ts'
import { PatchError } from './patch-error.ts'
import { goKind, listField, objectField, type PatchField } from './patch-schema.ts'

export const directive = '$patch'
export const retainKeys = '$retainKeys'
export const deleteFromList = '$deleteFromPrimitiveList'
export const elementOrder = '$setElementOrder'

/**
 * `apply` makes an object of an object and a patch. `combine` makes one patch of two: nulls and directives are kept.
 */
export type MergeMode = 'apply' | 'combine'

/** Merges into `target`, which it changes; the patch is neither changed nor shared with the result. */
export function mergeObject(target: JsonObject, patch: JsonObject, type: ValueSchema, mode: MergeMode): JsonObject {
  if (fieldOf(patch, directive) !== undefined) return replacement(patch)
  clearUnlisted(target, patch, mode)
  const done = mergeOrderedLists(target, patch, type, mode)

  for (const patchKey in patch) {
    const value = patch[patchKey]
    if (value === undefined || patchKey === retainKeys || done.has(patchKey)) continue
    const deletes = patchKey.startsWith(deleteFromList)
    if (deletes && mode === 'combine') {
      setField(target, patchKey, deepCopy(value))
      continue
    }
    const key = deletes ? listOf(patchKey, deleteFromList) : patchKey
    if (value === null) delete target[key]
    if (value === null && mode === 'apply') continue

    const current = fieldOf(target, key)
    if (isObject(current) && isObject(value)) {
      const field = objectField(type, key)
      setField(target, key, field.strategy === 'replace' ? deepCopy(value) : mergeObject(current, value, field.value, mode))
    } else if (Array.isArray(current) && Array.isArray(value)) {
      setField(target, key, mergeList(current, value, listField(type, key), mode, deletes))
    } else if (!deletes || (current !== undefined && typeof current === typeof value && typeof value !== 'object')) {
      const plain = withoutDirectives(value, mode === 'apply')
      if (plain === undefined) delete target[key]
      else setField(target, key, plain)
    }
  }
  return target
}

/** What the object becomes by its own directive. */
function replacement(patch: JsonObject): JsonObject {
  const wanted = fieldOf(patch, directive) ?? null
  if (wanted === 'delete') return {}
  if (wanted !== 'replace') throw unknownDirective(wanted, patch)
  const copy = deepCopy(patch)
  delete copy[directive]
  return copy
}

function unknownDirective(wanted: JsonValue, patch: JsonObject): PatchError {
  return new PatchError('internal', `unknown patch type: ${goString(wanted)} in map: ${goPrint(patch)}`)
}

/** `$retainKeys`: every other field of the target goes. */
function clearUnlisted(target: JsonObject, patch: JsonObject, mode: MergeMode): void {
  const list = fieldOf(patch, retainKeys)
  if (list === undefined) return
  if (mode === 'combine') {
    const earlier = fieldOf(target, retainKeys)
    if (earlier !== undefined && !equalJson(earlier, list)) {
      const both = `${goPrint(earlier)} and ${goPrint(list)}`
      throw new PatchError('internal', `${both} are not deep equal: this may happen when calculating the 3-way diff patch`)
    }
    setField(target, retainKeys, deepCopy(list))
    return
  }
  if (!Array.isArray(list)) throw new PatchError('badRequest', 'invalid patch format of retainKeys')
  const retained = new Set(list)
  for (const key in patch) {
    if (patch[key] === null || key === retainKeys || key.startsWith(deleteFromList) || key.startsWith(elementOrder)) continue
    if (!retained.has(key)) throw new PatchError('badRequest', 'invalid patch format of retainKeys')
  }
  for (const key of Object.keys(target)) if (!retained.has(key)) delete target[key]
}

/** Merges the lists whose order the patch prescribes; returns the keys of the patch that are done with. */
function mergeOrderedLists(target: JsonObject, patch: JsonObject, type: ValueSchema, mode: MergeMode): Set<string> {
  const done = new Set<string>()
  for (const patchKey in patch) {
    if (!patchKey.startsWith(elementOrder)) continue
    const given = patch[patchKey] ?? null
    if (mode === 'combine') {
      const earlier = fieldOf(target, patchKey)
      if (earlier !== undefined && !equalJson(earlier, given)) throw badElementOrder()
      setField(target, patchKey, deepCopy(given))
    }
    done.add(patchKey)
    const order = asList(given)
    const key = listOf(patchKey, elementOrder)
    const currentValue = fieldOf(target, key)
    const patchValue = fieldOf(patch, key)
    const current = currentValue === undefined ? undefined : asList(currentValue)
    const changes = patchValue === undefined ? undefined : asList(patchValue)
    const field = listField(type, key)
    requireOrder(changes ?? [], order, field.mergeKey)
    if (current === undefined && changes === undefined) continue
    setField(target, key, orderedList(current, changes, order, field, mode))
    done.add(key)
  }
  return done
}

function orderedList(
  current: JsonValue[] | undefined,
  changes: JsonValue[] | undefined,
  order: JsonValue[],
  field: PatchField,
  mode: MergeMode,
): JsonValue[] {
  const serverOrder = [...(current ?? [])]
  let merged: JsonValue[]
  if (changes === undefined) merged = current ?? []
  else if (current === undefined) merged = asList(withoutDirectives(changes, false) ?? [])
  else merged = mergeList(current, changes, field, mode, false)
  const identity = identityBy(field.mergeKey)
  if (field.mergeKey !== '') requireMergeKeys(merged, field.mergeKey)
  const [patched, serverOnly] = partition(merged, order, identity)
  if (holdObjects(serverOrder, changes ?? [])) requireMergeKeys([...patched, ...order, ...serverOrder], field.mergeKey)
  return interleaved(patched, serverOnly, order, serverOrder, identity)
}

/** What the patch changes must come in the order it prescribes. */
function requireOrder(changes: readonly JsonValue[], order: readonly JsonValue[], mergeKey: string): void {
  if (changes.length === 0 || order.length === 0) return
  const identity: Identity = mergeKey === '' ? (item) => item : (item) => mergeKeyOf(asObject(item), mergeKey)
  const wanted = changes.filter((item) => !isObject(item) || fieldOf(item, directive) === undefined)
  let met = 0
  for (let index = 0; index < order.length && met < wanted.length; index++) {
    if (identity(wanted[met] as JsonValue) === identity(order[index] as JsonValue)) met++
  }
  if (met === wanted.length) return
  const [given, prescribed] = [goPrint(changes), goPrint(order)]
  throw new PatchError('internal', `The order in patch list:\n${given}\n doesn't match ${elementOrder} list:\n${prescribed}\n`)
}

function mergeList(current: JsonValue[], patch: JsonValue[], field: PatchField, mode: MergeMode, deletes: boolean): JsonValue[] {
  if (field.strategy !== 'merge' && !deletes) return deepCopy(patch)
  if (current.length === 0 && patch.length === 0) return current
  const identity = identityBy(field.mergeKey)
  if (!holdObjects(current, patch)) {
    if (deletes && mode === 'apply') {
      const gone = new Set(patch)
      return current.filter((item) => !gone.has(item))
    }
    const merged = [...new Set([...current, ...patch])]
    if (field.mergeKey !== '') merged.forEach(asObject)
    return interleaved(...partition(merged, patch, identity), patch, current, identity)
  }
  if (field.mergeKey === '') throw new PatchError('internal', `cannot merge lists without merge key for ${goKind(field.value)}`)
  const { kept, changes } = withoutSpecialItems(current, patch, field.mergeKey)
  const merged = mergeItems(kept, changes, field, mode)
  requireMergeKeys(merged, field.mergeKey)
  return interleaved(...partition(merged, changes, identity), changes, kept, identity)
}

/** Carries out the `$patch` of items: what is left of the list, and of the patch. */
function withoutSpecialItems(current: JsonValue[], patch: JsonValue[], mergeKey: string): { kept: JsonValue[]; changes: JsonValue[] } {
  const deleted = new Set<JsonValue>()
  const changes: JsonValue[] = []
  let replaces = false
  for (const item of patch) {
    const change = asObject(item)
    const wanted = fieldOf(change, directive)
    if (wanted === undefined) changes.push(item)
    else if (wanted === 'delete') deleted.add(mergeKeyOf(change, mergeKey))
    else if (wanted === 'replace') replaces = true
    else if (wanted === 'merge') throw new PatchError('internal', 'merging lists cannot yet be specified in the patch')
    else throw unknownDirective(wanted, change)
  }
  if (replaces) return { kept: deepCopy(changes), changes: [] }
  if (deleted.size === 0) return { kept: current, changes }
  const identity = identityBy(mergeKey)
  const kept = current.filter((item) => {
    const key = identity(item)
    return key === undefined || !deleted.has(key)
  })
  return { kept, changes }
}

function mergeItems(current: readonly JsonValue[], changes: readonly JsonValue[], field: PatchField, mode: MergeMode): JsonValue[] {
  const merged = [...current]
  const places = new Map<JsonValue, number>()
  current.forEach((item, index) => {
    const key = fieldOf(asObject(item), field.mergeKey)
    if (key !== undefined && !places.has(key)) places.set(key, index)
  })
  for (const item of changes) {
    const change = asObject(item)
    const key = mergeKeyOf(change, field.mergeKey)
    const place = places.get(key)
    if (place === undefined) {
      places.set(key, merged.length)
      merged.push(deepCopy(change))
    } else merged[place] = mergeObject(asObject(merged[place] ?? null), change, field.value, mode)
  }
  return merged
}

/** `$directive/field` names the list that it speaks of. */
function listOf(patchKey: string, prefix: string): string {
  if (patchKey.startsWith(`${prefix}/`)) return patchKey.slice(prefix.length + 1)
  throw prefix === deleteFromList ? new PatchError('badRequest', 'invalid patch format of primitive list') : badElementOrder()
}

function badElementOrder(): PatchError {
  return new PatchError('badRequest', 'invalid patch format of setElementOrder list')
}

/** A copy of a value nothing stands against: objects with a directive of their own vanish. */
function withoutDirectives(value: JsonValue, dropNulls: boolean): JsonValue | undefined {
  if (Array.isArray(value)) {
    return value.map((item) => withoutDirectives(item, dropNulls)).filter((item) => item !== undefined)
  }
  if (!isObject(value)) return value
  if (fieldOf(value, directive) !== undefined) return undefined
  const plain: JsonObject = {}
  for (const key in value) {
    const field = value[key]
    if (field === undefined || (field === null && dropNulls)) continue
    const kept = withoutDirectives(field, dropNulls)
    if (kept !== undefined) setField(plain, key, kept)
  }
  return plain
}
