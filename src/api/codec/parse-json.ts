import { markLargeIntegers } from './large-integers.ts'

/** JSON without loss of what a 64-bit integer holds: those too large for a number come as bigints. The text must be valid. */
export function parseJson(text: string): unknown {
  if (!mayHoldLarge.test(text)) return JSON.parse(text)
  const value: unknown = JSON.parse(text, keepLarge as (key: string, value: unknown) => unknown)
  markLargeIntegers(value)
  return value
}

const mayHoldLarge = /[^"\d.]\d{16}/
const minInt64 = -(2n ** 63n)
const maxInt64 = 2n ** 63n - 1n

function keepLarge(_key: string, value: unknown, { source }: { source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined || Number.isSafeInteger(value) || !/^-?\d{1,19}$/.test(source)) return value
  const exact = BigInt(source)
  return exact >= minInt64 && exact <= maxInt64 ? exact : value
}
