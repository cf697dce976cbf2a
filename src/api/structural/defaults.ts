/** Fills in what a schema gives, and drops nulls that it does not allow. */
import { deepCopy } from '#api/meta/deep-copy.ts'
import { type Fields, fieldShape, isFields, type Shape } from '#api/structural/shape.ts'

/** Changes the value in place. Defaults are looked into in their turn. */
export function fillDefaults(value: unknown, shape: Shape): void {
  if (!shape.hasDefaults) return
  if (Array.isArray(value)) {
    const { items } = shape
    if (items === undefined) return
    for (let index = 0; index < value.length; index++) {
      if (isMisplacedNull(value[index], items)) value[index] = deepCopy(items.default ?? null)
      fillDefaults(value[index], items)
    }
  } else if (isFields(value)) fillFields(value, shape)
}

function fillFields(fields: Fields, shape: Shape): void {
  for (const [name, property] of shape.defaulted) {
    const value = own(fields, name)
    if (value === undefined || isMisplacedNull(value, property)) fields[name] = deepCopy(property.default)
  }
  for (const name in fields) {
    const inside = fieldShape(shape, name)
    if (inside === undefined) continue
    if (inside === shape.additional && isMisplacedNull(fields[name], inside)) fields[name] = deepCopy(inside.default ?? null)
    fillDefaults(fields[name], inside)
  }
}

const own = (fields: Fields, name: string): unknown => (Object.hasOwn(fields, name) ? fields[name] : undefined)

const isMisplacedNull = (value: unknown, { isNullable }: Shape): boolean => value === null && !isNullable

/** Nulls that a default will stand in for are left to it. */
export function dropNulls(value: unknown, shape: Shape): void {
  if (Array.isArray(value)) {
    if (shape.items === undefined) return
    for (const item of value) if (typeof item === 'object' && item !== null) dropNulls(item, shape.items)
  } else if (isFields(value)) {
    for (const name in value) {
      const each = value[name]
      if (typeof each !== 'object') continue
      const inside = fieldShape(shape, name)
      if (inside === undefined) continue
      if (each !== null) dropNulls(each, inside)
      else if (!inside.isNullable && inside.default === undefined) delete value[name]
    }
  }
}
