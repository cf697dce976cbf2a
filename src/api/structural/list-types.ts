/** Lists that are sets or maps hold nothing twice. */
import type { DynamicCheck } from '#api/meta/check.ts'
import { fieldShape, isFields, type Shape } from '#api/structural/shape.ts'
import { sortedJson } from '#api/structural/sorted-json.ts'

export function validateUniqueItems(value: unknown, shape: Shape, check: DynamicCheck): void {
  if (!shape.hasUniqueItems) return
  if (Array.isArray(value)) {
    if (shape.listType === 'set') reportRepeated(value, check)
    else if (shape.listType === 'map') validateKeys(value, shape, check)
    const { items } = shape
    if (items?.hasUniqueItems) for (const [index, item] of value.entries()) validateUniqueItems(item, items, check.at(index))
  } else if (isFields(value)) {
    for (const name in value) {
      const inside = fieldShape(shape, name)
      if (inside?.hasUniqueItems) validateUniqueItems(value[name], inside, shape.properties?.has(name) ? check.at(name) : check.key(name))
    }
  }
}

/** The first that comes again, of each. */
function reportRepeated(items: readonly unknown[], check: DynamicCheck): void {
  if (items.length < 2) return
  const seen = new Map<unknown, number>()
  for (const [index, item] of items.entries()) {
    const key = typeof item === 'object' && item !== null ? sortedJson(item) : item
    // Texts that look like objects are told from objects.
    const place = typeof item === 'string' ? `"${item}` : key
    const times = seen.get(place) ?? 0
    seen.set(place, times + 1)
    if (times === 1) check.at(index).duplicate(item)
  }
}

function validateKeys(items: readonly unknown[], { listKeys }: Shape, check: DynamicCheck): void {
  for (const [index, item] of items.entries()) {
    if (item !== null && !isFields(item)) {
      check.at(index).invalid('must be an object for an array of list-type map', item)
      return
    }
  }
  reportRepeated(
    items.map((item) =>
      Object.fromEntries(listKeys.flatMap((key) => (isFields(item) && Object.hasOwn(item, key) ? [[key, item[key]]] : []))),
    ),
    check,
  )
}
