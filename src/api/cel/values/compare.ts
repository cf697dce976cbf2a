/** When values are equal, and which is less. */
import {
  CelError,
  CelList,
  CelMap,
  CelObject,
  Duration,
  noSuchOverload,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from '#api/cel/values/value.ts'

type Numeric = bigint | number

/** A number of any kind as one that JavaScript compares exactly. */
const numericOf = (value: Value): Numeric | undefined => {
  if (typeof value === 'bigint' || typeof value === 'number') return value
  return value instanceof Uint ? value.value : undefined
}

export function isEqual(one: Value, other: Value): boolean {
  if (typeof one === 'string' || typeof one === 'boolean' || one === null) return one === other
  const number = numericOf(one)
  if (number !== undefined) {
    const second = numericOf(other)
    // biome-ignore lint/suspicious/noDoubleEquals: numbers of different kinds may be equal
    return second !== undefined && number == second
  }
  if (one instanceof CelList) return other instanceof CelList && sameElements(one, other)
  if (one instanceof CelMap) return other instanceof CelMap && sameEntries(one, other)
  if (one instanceof CelObject) return one.equals(other)
  if (one instanceof Timestamp) return other instanceof Timestamp && one.nanos === other.nanos
  if (one instanceof Duration) return other instanceof Duration && one.nanos === other.nanos
  if (one instanceof TypeValue) return other instanceof TypeValue && one.name === other.name
  if (one instanceof Optional) return other instanceof Optional && sameContent(one, other)
  return one instanceof Uint8Array && other instanceof Uint8Array && Buffer.compare(one, other) === 0
}

function sameContent(one: Optional, other: Optional): boolean {
  if (one.value === undefined || other.value === undefined) return one.value === other.value
  return isEqual(one.value, other.value)
}

function sameElements(one: CelList, other: CelList): boolean {
  if (one.size !== other.size) return false
  if (one.isSame !== undefined) return one.isSame(other)
  if (other.isSame !== undefined) return other.isSame(one)
  for (let index = 0; index < one.size; index++) if (!isEqual(one.at(index), other.at(index))) return false
  return true
}

function sameEntries(one: CelMap, other: CelMap): boolean {
  if (one.size !== other.size) return false
  for (const key of one.keys()) {
    const theirs = other.get(key)
    if (theirs === undefined || !isEqual(one.get(key) as Value, theirs)) return false
  }
  return true
}

/** A whole number beside a double is taken for one, as far as doubles go. */
function compareNumbers(one: Numeric, other: Numeric): number {
  if (typeof one === typeof other) return one < other ? -1 : one > other ? 1 : 0
  const [first, second] = [Number(one), Number(other)]
  return first < second ? -1 : first > second ? 1 : 0
}

/** Throws for what has no order. */
export function compare(one: Value, other: Value): number {
  const number = numericOf(one)
  if (number !== undefined) {
    const second = numericOf(other)
    if (second === undefined) throw noSuchOverload()
    if (Number.isNaN(number) || Number.isNaN(second)) throw new CelError('NaN values cannot be ordered')
    return compareNumbers(number, second)
  }
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other))
  if (typeof one === 'boolean' && typeof other === 'boolean') return Number(one) - Number(other)
  if (one instanceof Uint8Array && other instanceof Uint8Array) return Buffer.compare(one, other)
  if ((one instanceof Timestamp && other instanceof Timestamp) || (one instanceof Duration && other instanceof Duration))
    return one.nanos < other.nanos ? -1 : one.nanos > other.nanos ? 1 : 0
  const order = one instanceof CelObject ? one.compareTo?.(other) : undefined
  if (order === undefined) throw noSuchOverload()
  return order
}
