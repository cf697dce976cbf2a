/** A patch merged into an object, as kustomize does: new items of lists come first, lists of unknown form are replaced. */
import { CliError } from '#cli/cli-error.ts'
import type { MergeForm } from './merge-form.ts'

type JsonMap = Record<string, unknown>

/** Undefined where nothing is left. */
export function mergedByPatch(object: unknown, patch: unknown, form: MergeForm | undefined): unknown {
  if (patch === undefined) return object
  if (patch === null) return undefined
  if (Array.isArray(patch)) return mergedLists(object, patch, form)
  if (typeof patch === 'object') return mergedMaps(object, patch as JsonMap, form)
  return patch
}

function mergedMaps(object: unknown, patch: JsonMap, form: MergeForm | undefined): JsonMap | undefined {
  const { $patch: directive, ...rest } = patch
  checkDirective(directive)
  if (directive === 'delete') return undefined
  if (directive === 'replace') return rest
  // Made of the patch alone: what it clears is not there, and what it deletes neither.
  const result: JsonMap = isMap(object) ? { ...object } : {}
  for (const [key, value] of Object.entries(rest)) {
    const merged = mergedByPatch(result[key], value, form?.field(key))
    if (merged === undefined) delete result[key]
    else result[key] = merged
  }
  return result
}

function mergedLists(object: unknown, patch: readonly unknown[], form: MergeForm | undefined): unknown[] | undefined {
  const keys = form?.mergeKeys
  if (keys === undefined) return patch.map((item) => mergedByPatch(undefined, item, form?.items()))
  const directive = patch.find((item): item is { $patch: string } => isMap(item) && '$patch' in item && Object.keys(item).length === 1)
  const items = patch.filter((item) => item !== directive)
  checkDirective(directive?.$patch)
  if (directive?.$patch === 'delete') return undefined
  if (directive?.$patch === 'replace' || !Array.isArray(object))
    return items.flatMap((item) => mergedByPatch(undefined, item, form?.items()) ?? [])
  if (keys.length === 0) return [...new Set([...items, ...object])]
  return mergedByKeys(object, items, keys, form?.items())
}

/** Items of the patch in its order, then the others. */
function mergedByKeys(
  object: readonly unknown[],
  patch: readonly unknown[],
  keys: readonly string[],
  form: MergeForm | undefined,
): unknown[] | undefined {
  // A key that neither side uses tells nothing: `protocol` of ports that do not name it.
  const used = keys.filter((key) => [...object, ...patch].some((item) => isMap(item) && item[key] !== undefined))
  const isSame = (one: unknown, other: unknown): boolean => {
    if (!isMap(one) || !isMap(other) || used.length === 0) return false
    const common = used.filter((key) => one[key] !== undefined && other[key] !== undefined)
    return common.length > 0 && common.every((key) => String(one[key]) === String(other[key]))
  }
  const mergedItems = new Map<unknown, unknown>()
  const first: unknown[] = []
  // By several keys, what is there already stays in its place.
  const staysInPlace = used.length > 1
  for (const item of patch) {
    const own = object.find((each) => !mergedItems.has(each) && isSame(each, item))
    const merged = mergedByPatch(own, item, form)
    const kept = isMap(merged) && Object.keys(merged).length === 0 ? undefined : merged
    if (own !== undefined) mergedItems.set(own, kept)
    if (kept !== undefined && (own === undefined || !staysInPlace)) first.push(kept)
  }
  const others = staysInPlace
    ? object.flatMap((item) => (mergedItems.has(item) ? (mergedItems.get(item) ?? []) : item))
    : object.filter((item) => !mergedItems.has(item))
  const result = [...first, ...others]
  return result.length === 0 ? undefined : result
}

function checkDirective(directive: unknown): void {
  if (directive !== undefined && !['delete', 'replace', 'merge'].includes(String(directive)))
    throw new CliError(`unknown patch strategy '${String(directive)}'`)
}

const isMap = (value: unknown): value is JsonMap => typeof value === 'object' && value !== null && !Array.isArray(value)
