import { CelList, CelMap, CelObject, Optional, type Value } from '#api/cel/values/value.ts'

/** The last long texts that were counted: an expression asks the same one again for each element of a list, at the price of one step. */
const counted: { text: string; count: number }[] = []
const longText = 1000
const mostCounted = 4

/** Code points, not UTF-16 units. */
export function codePointCount(text: string): number {
  if (text.length < longText) return countedPoints(text)
  const known = counted.find((each) => each.text === text)
  if (known !== undefined) return known.count
  const count = countedPoints(text)
  if (counted.length >= mostCounted) counted.shift()
  counted.push({ text, count })
  return count
}

function countedPoints(text: string): number {
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
