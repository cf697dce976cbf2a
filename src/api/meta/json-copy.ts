/**
 * What a value would be after a passage through JSON, without the passage: a copy without the fields that are undefined.
 * Undefined where the copy would not be the same (numbers JSON has no words for, halves of surrogate pairs), and for values that
 * take more than `limitChars` in JSON, roughly.
 */
export function jsonCopy(value: object, limitChars: number): object | undefined {
  budget = limitChars
  const copy = copied(value)
  return copy === unlike ? undefined : (copy as object)
}

const unlike: unique symbol = Symbol('unlike')

/** Characters that are left for the value that is being copied. */
let budget = 0

function copied(value: object): object | typeof unlike {
  if (Array.isArray(value)) return copiedList(value)
  // Dates and their like say themselves what they are in JSON.
  if ('toJSON' in value) return unlike
  const copy: { [key: string]: unknown } = {}
  for (const key in value) {
    const child = (value as { [key: string]: unknown })[key]
    if (child === undefined) continue
    const own = copiedValue(child)
    if (own === unlike) return unlike
    budget -= key.length + 4
    // JSON may bring this name as a plain key; an assignment would change the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: own, writable: true, enumerable: true, configurable: true })
    else copy[key] = own
  }
  return copy
}

function copiedList(value: readonly unknown[]): unknown[] | typeof unlike {
  const list = new Array<unknown>(value.length)
  for (let index = 0; index < value.length; index++) {
    const own = copiedValue(value[index])
    if (own === unlike) return unlike
    list[index] = own
  }
  budget -= value.length
  return list
}

function copiedValue(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
      budget -= value.length + 2
      return budget >= 0 && value.isWellFormed() ? value : unlike
    case 'object':
      return value === null ? value : copied(value)
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : unlike
    default:
      return unlike
  }
}
