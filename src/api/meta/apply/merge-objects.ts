/** Lays an applied configuration over the live object. */
import { deepCopy } from '#api/meta/deep-copy.ts'
import { fieldOf, isObject, type JsonObject, type JsonValue, setField } from '#api/meta/patch/json-value.ts'
import { itemElement, type ListForm, type MapForm, type MergeType, typeOfKey, untypedAtomic } from './merge-type.ts'
import type { PathElement } from './path-element.ts'

/** A new object: what `config` says, and of `live` what it does not speak of. Nothing is removed, and nothing is shared. */
export function mergeObjects(live: JsonObject, config: JsonObject, type: MergeType): JsonObject {
  const merged = mergeValues(live, config, type)
  return isObject(merged) ? merged : {}
}

/** The configuration passed its type check: where its form differs from that of the live value, it replaces it. */
function mergeValues(live: JsonValue, config: JsonValue, type: MergeType): JsonValue {
  const form = type.formOf(config)
  if (form === undefined || form.atomic) return deepCopy(config)
  if (form.kind === 'map') {
    if (!isObject(live)) return deepCopy(config)
    // Null speaks of nothing that is inside.
    if (!isObject(config)) return isEmpty(live) ? deepCopy(config) : deepCopy(live)
    return isEmpty(live) && isEmpty(config) ? {} : mergeMaps(live, config, form)
  }
  if (!Array.isArray(live)) return deepCopy(config)
  if (!Array.isArray(config)) return live.length === 0 ? deepCopy(config) : deepCopy(live)
  return live.length === 0 && config.length === 0 ? [] : mergeLists(live, config, form)
}

function isEmpty(value: JsonObject): boolean {
  for (const key in value) if (value[key] !== undefined) return false
  return true
}

function mergeMaps(live: JsonObject, config: JsonObject, map: MapForm): JsonObject {
  const merged: JsonObject = {}
  for (const key in live) {
    const ours = live[key]
    if (ours === undefined) continue
    const theirs = fieldOf(config, key)
    setField(merged, key, theirs === undefined ? deepCopy(ours) : mergeValues(ours, theirs, typeOfKey(map, key) ?? untypedAtomic))
  }
  for (const key in config) {
    const theirs = config[key]
    if (theirs !== undefined && fieldOf(live, key) === undefined) setField(merged, key, deepCopy(theirs))
  }
  return merged
}

type Item = { element: PathElement; value: JsonValue }

/**
 * Items of both keep the order of the configuration, items of the live list only keep their place between those of
 * its items they stood between. Live items that share their keys are one to the configuration: it replaces them.
 */
function mergeLists(live: readonly JsonValue[], config: readonly JsonValue[], list: ListForm): JsonValue[] {
  const itemsOf = (values: readonly JsonValue[]): Item[] => values.map((value) => ({ element: itemElement(list, value), value }))
  const [ours, theirs] = [itemsOf(live), itemsOf(config)]
  if (ours.length === theirs.length && ours.every(({ element }, index) => element === theirs[index]?.element)) {
    return ours.map(({ value }, index) => mergeValues(value, config[index] as JsonValue, list.element))
  }
  const counterparts = new Map<PathElement, JsonValue>()
  for (const { element, value } of ours) counterparts.set(element, counterparts.has(element) ? null : value)
  const wanted = new Set(theirs.map(({ element }) => element))
  const shared = theirs.filter(({ element }) => counterparts.has(element)).map(({ element }) => element)

  const merged: JsonValue[] = []
  const placed = new Set<PathElement>()
  let [our, their, nextShared] = [0, 0, 0]
  const placeTheirs = (): void => {
    const { element, value } = theirs[their] as Item
    const counterpart = counterparts.get(element) ?? null
    merged.push(counterpart === null ? deepCopy(value) : mergeValues(counterpart, value, list.element))
    placed.add(element)
    if (shared[nextShared] === element) nextShared++
    their++
  }
  while (our < ours.length || their < theirs.length) {
    const mine = ours[our]
    const awaited = shared[nextShared]
    if (mine === undefined) placeTheirs()
    else if (!wanted.has(mine.element)) {
      merged.push(deepCopy(mine.value))
      our++
    } else if (their < theirs.length && theirs[their]?.element === mine.element) {
      placeTheirs()
      our++
    } else if (their < theirs.length && awaited !== undefined && awaited !== mine.element) our++
    else {
      if (placed.has(mine.element)) our++
      if (their < theirs.length) placeTheirs()
    }
  }
  return merged
}
