type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** The fields that say something, as Go's `omitempty` has it: not undefined, null, false, 0, an empty text, list or map. */
export function omitEmpty<T extends object>(fields: T): Present<T> {
  const result: Present<T> = {}
  for (const name in fields) {
    const value = fields[name]
    if (!isEmpty(value)) result[name] = value as Exclude<T[typeof name], undefined>
  }
  return result
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return !value
  if (Array.isArray(value)) return value.length === 0
  for (const _key in value) return false
  return true
}
