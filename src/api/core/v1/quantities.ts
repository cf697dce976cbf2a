/** Rules for single quantities. `check` stands at the quantity. */
import { isIntegerResource } from '#api/core/v1/resource-names.ts'
import type { Check } from '#api/meta/check.ts'
import { mustBeNonNegative } from '#api/meta/formats.ts'
import { milliQuantityOf, parseQuantity } from '#api/meta/quantity.ts'

export type ResourceList = { [name: string]: string }

const mustBePositive = 'must be greater than zero'

export function validatePositiveQuantity(check: Check<string>): void {
  const quantity = check.value
  const parsed = parseQuantity(quantity)
  if (parsed.sign <= 0) check.invalid(mustBePositive, parsed.toString())
}

export function validateNotBelowZero(check: Check<string>): void {
  const quantity = check.value
  const value = parseQuantity(quantity).value()
  if (value < 0) check.invalid('must be a valid resource quantity', value)
}

/** Never negative; whole where things are counted. */
export function validateResourceQuantity(name: string, check: Check<string>): void {
  const quantity = check.value
  const parsed = parseQuantity(quantity)
  if (parsed.sign < 0) check.invalid(mustBeNonNegative, parsed.toString())
  if (isIntegerResource(name) && !hasWholeMillis(quantity)) check.invalid('must be an integer', parsed.toString())
}

/** Whether the quantity, rounded up to thousandths, is whole. */
export function hasWholeMillis(quantity: string): boolean {
  return parseQuantity(quantity).scaledValue(-3) % 1000n === 0n
}

const milli = -3

/** Kubernetes counts in thousandths; what is finer is rounded up. */
export function roundUpToMillis(list: ResourceList | undefined): void {
  for (const name in list) {
    const quantity = parseQuantity(list[name] ?? '0')
    if (quantity.scale < milli) list[name] = milliQuantityOf(quantity.scaledValue(milli), quantity.format).toString()
  }
}
