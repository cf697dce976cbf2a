/** Drops the fields of an object that its schema does not know. */

import { emptyShape, type Fields, fieldShape, isFields, type Shape } from '#api/structural/shape.ts'
import { append } from '#base/append.ts'

const metaFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/** What was dropped, as `spec.list[3].name`. */
export type Dropped = string[]

/** Changes the object in place; its own apiVersion, kind and metadata are left alone. Paths come sorted. */
export function pruneObject(object: Fields, shape: Shape, dropped?: Dropped): void {
  const found: Dropped | undefined = dropped && []
  pruneFields(object, shape, true, '', found)
  if (dropped && found) append(dropped, found.sort())
}

/** As `pruneObject`, of any value of the schema. */
function pruneValue(value: unknown, shape: Shape, path = '', dropped?: Dropped): void {
  if (Array.isArray(value)) {
    const { items, preservesUnknown } = shape
    if (preservesUnknown && items === undefined) return
    // Where a list is preserved, what is undeclared in its items is, too.
    const inside = items === undefined ? emptyShape : preservesUnknown && !items.preservesUnknown ? preserving(items) : items
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index]
      if (typeof item === 'object' && item !== null) pruneValue(item, inside, dropped && `${path}[${index}]`, dropped)
    }
  } else if (isFields(value)) pruneFields(value, shape, shape.isEmbedded, path, dropped)
}

function pruneFields(fields: Fields, shape: Shape, isResource: boolean, path: string, dropped: Dropped | undefined): void {
  for (const name in fields) {
    if (isResource && metaFields.has(name)) continue
    const inside = fieldShape(shape, name)
    if (inside !== undefined) {
      const value = fields[name]
      if (typeof value === 'object' && value !== null) pruneValue(value, inside, dropped && joined(path, name), dropped)
    } else if (!shape.preservesUnknown) {
      delete fields[name]
      if (dropped && (path !== '' || !metaFields.has(name))) dropped.push(joined(path, name))
    }
  }
}

const preservingItems = new WeakMap<Shape, Shape>()

function preserving(shape: Shape): Shape {
  const known = preservingItems.get(shape) ?? { ...shape, preservesUnknown: true }
  preservingItems.set(shape, known)
  return known
}

const joined = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)
