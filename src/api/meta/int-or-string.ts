/** Numbers that may be given as percentages, and ports that may be given by name. */
import type { IntOrString } from '#api/meta/v1/types.gen.ts'
import { quoted } from './check.ts'

/** As a flag or an annotation gives it: a number if it is one. */
export function parseIntOrString(text: string): IntOrString {
  const number = /^[+-]?[0-9]+$/.test(text) ? Number(text) : Number.NaN
  return number >= -(2 ** 31) && number < 2 ** 31 ? number : text
}

class IntOrStringError extends Error {
  override name = 'IntOrStringError'
}

export const isPercent = (value: IntOrString | undefined): value is string => typeof value === 'string' && /^[0-9]+%$/.test(value)

/**
 * `25%` of 10 is 3 rounded up and 2 rounded down; a number stands for itself. Throws where upstream gives an error:
 * texts that are no percentage.
 */
export function scaledValue(value: IntOrString, total: number, rounding: 'up' | 'down'): number {
  if (typeof value === 'number') return value
  const percent = percentOf(value)
  const scaled = (percent * total) / 100
  return rounding === 'up' ? Math.ceil(scaled) : Math.floor(scaled)
}

function percentOf(value: string): number {
  if (!value.endsWith('%')) throw new IntOrStringError('invalid value for IntOrString: invalid type: string is not a percentage')
  const number = value.slice(0, -1)
  if (/^[+-]?[0-9]+$/.test(number)) return Number(number)
  throw new IntOrStringError(
    `invalid value for IntOrString: invalid value ${quoted(value)}: strconv.Atoi: parsing ${quoted(number)}: invalid syntax`,
  )
}
