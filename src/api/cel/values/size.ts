import { CelList, CelMap, CelObject, Optional, type Value } from '#api/cel/values/value.ts'

/** Code points, not UTF-16 units. */
export function codePointCount(text: string): number {
  let count = text.length
  for (let index = 0; index < text.length - 1; index++) {
    const unit = text.charCodeAt(index)
    if (unit >= 0xd800 && unit <= 0xdbff) {
      count--
      index++
    }
  }
  return count
}

/** How much there is to look at, for costs: 1 for what has no parts. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string') return codePointCount(value)
  if (value instanceof Uint8Array) return value.length
  if (value instanceof CelList || value instanceof CelMap) return value.size
  if (value instanceof Optional) return value.value === undefined ? 1 : sizeOf(value.value)
  return value instanceof CelObject ? value.weight : 1
}
