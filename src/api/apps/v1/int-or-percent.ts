/** Rules for numbers of pods that may be given as a share of all pods: `2` or `25%`. */
import type { Check } from '#api/meta/check.ts'
import { nonNegative, percent } from '#api/meta/formats.ts'
import type { IntOrString } from '#api/meta/v1/types.gen.ts'

export function mustBePositiveIntOrPercent(check: Check<IntOrString>): void {
  const value = check.value
  if (typeof value === 'number') {
    nonNegative(check.with(value))
    return
  }
  for (const message of percent(value)) check.invalid(message)
}

export function mustNotExceed100Percent(check: Check<IntOrString>): void {
  const value = check.value
  const percentage = percentValue(value)
  if (percentage !== undefined && percentage > 100) check.invalid('must not be greater than 100%')
}

/** The number before the percent sign, or the number itself; zero for a text that is neither. */
export function intOrPercentValue(value: IntOrString): number {
  if (typeof value === 'number') return value
  return percentValue(value) ?? (/^[+-]?[0-9]+$/.test(value) ? Number(value) : 0)
}

function percentValue(value: IntOrString): number | undefined {
  return typeof value === 'string' && percent(value).length === 0 ? Number(value.slice(0, -1)) : undefined
}
