/** JSON merge patches (RFC 7386): nulls delete, objects merge, everything else replaces. */
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalJson, fieldOf, isObject, type JsonObject, type JsonValue, setField } from './json-value.ts'

/** Merges into `target`, which it changes; nothing of the patch is shared with the result. */
export function applyMergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  for (const key in patch) {
    const value = patch[key]
    if (value === undefined) continue
    if (value === null) {
      delete target[key]
      continue
    }
    const current = fieldOf(target, key)
    // Only what replaces an object keeps its nulls: upstream's library forgets to prune there.
    if (isObject(current)) setField(target, key, isObject(value) ? applyMergePatch(current, value) : deepCopy(value))
    else setField(target, key, withoutNulls(value))
  }
  return target
}

/** Nulls in lists stay: there they are values. */
function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const kept: JsonObject = {}
  for (const key in value) {
    const field = value[key]
    if (field !== null && field !== undefined) setField(kept, key, withoutNulls(field))
  }
  return kept
}

/** The patch that makes `modified` of `original`. Nulls that `modified` adds cannot be said and act as deletions. */
export function createMergePatch(original: JsonObject, modified: JsonObject): JsonObject {
  const patch: JsonObject = {}
  for (const key in modified) {
    const after = modified[key]
    if (after === undefined) continue
    const before = fieldOf(original, key)
    if (isObject(before) && isObject(after)) {
      const changes = createMergePatch(before, after)
      if (Object.keys(changes).length > 0) setField(patch, key, changes)
    } else if (before === undefined || !equalJson(before, after)) setField(patch, key, deepCopy(after))
  }
  for (const key in original) if (fieldOf(modified, key) === undefined) setField(patch, key, null)
  return patch
}

/**
 * What brings `current` to `modified` and deletes what was in `original` and is no longer wanted; what others added
 * to `current` stays. For kinds without merge keys.
 */
export function createThreeWayJsonMergePatch(original: JsonObject, modified: JsonObject, current: JsonObject): JsonObject {
  const changes = onlyNulls(createMergePatch(current, modified), false)
  const deletions = onlyNulls(createMergePatch(original, modified), true)
  return combineMergePatches(deletions, changes)
}

/** The nulls of a patch, or all but the nulls. */
function onlyNulls(patch: JsonObject, nulls: boolean): JsonObject {
  const kept: JsonObject = {}
  for (const key in patch) {
    const value = patch[key]
    if (value === undefined) continue
    if (isObject(value)) {
      // An object the user wrote empty is a change of its own.
      const inner = onlyNulls(value, nulls)
      if (Object.keys(inner).length > 0 || (!nulls && Object.keys(value).length === 0)) setField(kept, key, inner)
    } else if ((value === null) === nulls) setField(kept, key, value)
  }
  return kept
}

/** The patch that does what both do, one after the other. */
function combineMergePatches(first: JsonObject, second: JsonObject): JsonObject {
  for (const key in second) {
    const value = second[key]
    if (value === undefined) continue
    const earlier = fieldOf(first, key)
    setField(first, key, isObject(earlier) && isObject(value) ? combineMergePatches(earlier, value) : value)
  }
  return first
}
