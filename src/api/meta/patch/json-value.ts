/** JSON as it comes out of the parser: reading, comparing, and a bound on its depth. */

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject
export type JsonObject = { [key: string]: JsonValue }

/** Levels of nesting that are taken; beyond some thousands every recursive walk, JSON.stringify's too, runs out of stack. */
export const maxDepth = 1_000

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of the object's own key. Users' keys may be `constructor` or `__proto__`, which every object seems to have. */
export function fieldOf(object: JsonObject, key: string): JsonValue | undefined {
  if (key === '__proto__') return Object.hasOwn(object, key) ? object[key] : undefined
  const value = object[key]
  return typeof value === 'function' ? undefined : value
}

export function setField(object: JsonObject, key: string, value: JsonValue): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  else object[key] = value
}

/** Deep equality; a field that is `undefined` is absent, one that is null is not. */
export function equalJson(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left)) return Array.isArray(right) && equalLists(left, right)
  if (Array.isArray(right)) return false
  let surplus = 0
  for (const key in left) {
    const value = (left as JsonObject)[key]
    if (value === undefined) continue
    if (!equalJson(value, fieldOf(right as JsonObject, key))) return false
    surplus++
  }
  for (const key in right) if ((right as JsonObject)[key] !== undefined) surplus--
  return surplus === 0
}

function equalLists(left: readonly unknown[], right: readonly unknown[]): boolean {
  if (left.length !== right.length) return false
  for (let index = 0; index < left.length; index++) if (!equalJson(left[index], right[index])) return false
  return true
}

/** Whether objects and lists nest more than `levels` deep. Itself never goes deeper than that. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(item, levels - 1))
  for (const key in value) if (isDeeperThan((value as JsonObject)[key], levels - 1)) return true
  return false
}
