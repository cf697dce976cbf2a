/** The text of a value with the keys of its objects in order: the same for what is the same. */

import { jsonText } from '#api/codec/json-text.ts'
import { setOwn } from '#api/codec/own-key.ts'

export const sortedJson = (value: unknown): string => jsonText(sorted(value))

/** The value with the keys of its objects in order; the value itself where they are. */
export function sorted<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  return (Array.isArray(value) ? sortedList(value) : sortedFields(value as Record<string, unknown>)) as T
}

function sortedList(list: readonly unknown[]): readonly unknown[] {
  let changed: unknown[] | undefined
  for (let index = 0; index < list.length; index++) {
    const item = list[index]
    const inOrder = sorted(item)
    if (inOrder === item) continue
    changed ??= [...list]
    changed[index] = inOrder
  }
  return changed ?? list
}

function sortedFields(fields: Record<string, unknown>): Record<string, unknown> {
  let previous = ''
  let isInOrder = true
  let changed: Record<string, unknown> | undefined
  for (const name in fields) {
    if (name < previous) isInOrder = false
    previous = name
    const value = fields[name]
    if (typeof value !== 'object' || value === null) continue
    const inOrder = sorted(value)
    if (inOrder === value) continue
    changed ??= { ...fields }
    changed[name] = inOrder
  }
  const result = changed ?? fields
  if (isInOrder) return result
  const inOrder: Record<string, unknown> = {}
  for (const name of Object.keys(result).sort()) setOwn(inOrder, name, result[name])
  return inOrder
}
