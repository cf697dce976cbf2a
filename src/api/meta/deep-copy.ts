/** Copies and freezes values that came from JSON. */

/** A private copy of a JSON-shaped value, much faster than structuredClone. Functions, dates and cycles have no place in one. */
export function deepCopy<T>(value: T): T {
  return (typeof value === 'object' && value !== null ? copied(value) : value) as T
}

function copied(value: object): unknown {
  if (Array.isArray(value)) {
    const list = new Array(value.length)
    for (let index = 0; index < value.length; index++) list[index] = deepCopy(value[index])
    return list
  }
  const copy: { [key: string]: unknown } = {}
  for (const key in value) {
    const child = (value as { [key: string]: unknown })[key]
    const own = typeof child === 'object' && child !== null ? copied(child) : child
    // JSON may bring this name as a plain key; an assignment would change the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: own, writable: true, enumerable: true, configurable: true })
    else copy[key] = own
  }
  return copy
}

/** Freezes the value and all below it, in place. A frozen part is taken to be frozen throughout. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  if (Array.isArray(value)) for (const each of value) deepFreeze(each)
  else for (const key in value) deepFreeze(value[key])
  return value
}
