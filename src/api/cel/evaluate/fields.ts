import { keyText, listIndex } from '#api/cel/standard/collections.ts'
import { CelError, CelList, CelMap, CelObject, noSuchOverload, Optional, type Value } from '#api/cel/values/value.ts'

export function fieldOf(value: Value, field: string): Value {
  if (value instanceof CelMap) {
    const found = value.get(field)
    if (found === undefined) throw new CelError(`no such key: ${field}`)
    return found
  }
  if (!(value instanceof CelObject)) throw noSuchOverload()
  const found = value.field?.(field)
  if (found === undefined) throw new CelError(`no such field '${field}'`)
  return found
}

export function hasField(value: Value, field: string): boolean {
  if (value instanceof CelMap) return value.get(field) !== undefined
  if (value instanceof CelObject) return value.field?.(field) !== undefined
  if (value instanceof Optional) return value.value !== undefined && hasField(value.value, field)
  throw noSuchOverload()
}

/** `container[?index]`, where the container may itself be an optional. */
export function optionalElement(container: Value, index: Value): Optional {
  if (container instanceof Optional) return container.value === undefined ? container : optionalElement(container.value, index)
  if (container instanceof CelMap) return new Optional(container.get(index))
  if (container instanceof CelObject && typeof index === 'string') return new Optional(container.field?.(index))
  if (!(container instanceof CelList)) throw new CelError(`no such key: ${keyText(index)}`)
  try {
    return new Optional(container.at(listIndex(container, index)))
  } catch (error) {
    if (error instanceof CelError && error.message.startsWith('index out of bounds')) return Optional.none
    throw error
  }
}
