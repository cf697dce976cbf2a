/** The order and the identity of items in lists that strategic merge patches merge. */
import { cut } from '#api/meta/check.ts'
import { goPrint, goTypeOf } from './go-print.ts'
import { fieldOf, isObject, type JsonObject, type JsonValue } from './json-value.ts'
import { PatchError } from './patch-error.ts'

/** An item's merge key, or the item itself in a list of scalars. */
export type Identity = (item: JsonValue) => JsonValue | undefined

export function identityBy(mergeKey: string): Identity {
  return mergeKey === '' ? (item) => item : (item) => (isObject(item) ? fieldOf(item, mergeKey) : undefined)
}

export function mergeKeyOf(item: JsonObject, mergeKey: string): JsonValue {
  const value = fieldOf(item, mergeKey)
  if (value === undefined) throw new PatchError('internal', `map: ${cut(goPrint(item))} does not contain declared merge key: ${mergeKey}`)
  return value
}

export function requireMergeKeys(items: readonly JsonValue[], mergeKey: string): void {
  for (const item of items) mergeKeyOf(asObject(item), mergeKey)
}

export function asObject(value: JsonValue): JsonObject {
  if (isObject(value)) return value
  throw wrongType('map[string]interface {}', value)
}

export function asList(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value
  throw wrongType('[]interface {}', value)
}

function wrongType(expected: string, value: JsonValue): PatchError {
  return new PatchError('internal', `expected a ${expected}, but received a ${value === null ? '%!s(<nil>)' : goTypeOf(value)}`)
}

/** Whether the items are objects. Lists that mix types, and lists of lists, cannot be merged. */
export function holdObjects(...lists: readonly (readonly JsonValue[])[]): boolean {
  let type: string | undefined
  for (const list of lists) {
    for (const item of list) {
      const own = typeOf(item)
      if (type === undefined && own === 'list') throw new PatchError('unprocessable', 'lists of lists are not supported')
      if ((type !== undefined && type !== own) || own === 'null') {
        throw new PatchError('internal', `list element types are not identical: ${goPrint(lists as JsonValue[])}`)
      }
      type = own
    }
  }
  if (type === undefined) throw new PatchError('internal', 'no elements in any of the given slices')
  return type === 'object'
}

function typeOf(value: JsonValue): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'list' : typeof value
}

/** Items whose identity occurs in `order`, and the others. */
export function partition(items: readonly JsonValue[], order: readonly JsonValue[], identity: Identity): [JsonValue[], JsonValue[]] {
  const wanted = new Set(order.map(identity))
  const inside: JsonValue[] = []
  const outside: JsonValue[] = []
  for (const item of items) (wanted.has(identity(item)) ? inside : outside).push(item)
  return [inside, outside]
}

/**
 * The items of the patch in the patch's order, those only the server knows in the server's order, woven into each
 * other by the server's order as far as the first rule allows.
 */
export function interleaved(
  patched: readonly JsonValue[],
  serverOnly: readonly JsonValue[],
  patchOrder: readonly JsonValue[],
  serverOrder: readonly JsonValue[],
  identity: Identity,
): JsonValue[] {
  const server = positions(serverOrder, identity)
  const left = inOrder(serverOnly, server, identity)
  const right = inOrder(patched, positions(patchOrder, identity), identity)
  const woven: JsonValue[] = []
  let next = 0
  for (const item of right) {
    const place = server.get(identity(item))
    while (place !== undefined && next < left.length) {
      const candidate = left[next] as JsonValue
      const before = server.get(identity(candidate))
      if (before === undefined || before >= place) break
      woven.push(candidate)
      next++
    }
    woven.push(item)
  }
  for (; next < left.length; next++) woven.push(left[next] as JsonValue)
  return woven
}

/** Sorted as `order` has them; marked for deletion last. */
export function sortedLike(items: readonly JsonValue[], order: readonly JsonValue[], identity: Identity): JsonValue[] {
  return inOrder(items, positions(order, identity), identity)
}

function inOrder(items: readonly JsonValue[], order: ReadonlyMap<unknown, number>, identity: Identity): JsonValue[] {
  const kept = items.filter((item) => !isDeletion(item))
  const places = kept.map((item) => ({ item, place: order.get(identity(item)) ?? 0 }))
  const sorted = places.sort((a, b) => a.place - b.place).map(({ item }) => item)
  return kept.length === items.length ? sorted : [...sorted, ...items.filter(isDeletion)]
}

function positions(items: readonly JsonValue[], identity: Identity): Map<unknown, number> {
  const found = new Map<unknown, number>()
  items.forEach((item, index) => {
    const key = identity(item)
    if (!found.has(key)) found.set(key, index)
  })
  return found
}

function isDeletion(item: JsonValue): boolean {
  return isObject(item) && fieldOf(item, '$patch') === 'delete'
}
