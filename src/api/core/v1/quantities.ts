/** Rules for single quantities. `check` stands at the quantity. */
import { isIntegerResource } from '#api/core/v1/resource-names.ts'
import type { Check } from '#api/meta/check.ts'
import { mustBeNonNegative } from '#api/meta/formats.ts'
import { milliQuantityOf, parseQuantity } from '#api/meta/quantity.ts'

export type ResourceList = { [name: string]: string }

const mustBePositive = 'must be greater than zero'

export function validatePositiveQuantity(quantity: string, check: Check): void {
  const parsed = parseQuantity(quantity)
  if (parsed.sign <= 0) check.invalid(parsed.toString(), mustBePositive)
}

export function validateNotBelowZero(quantity: string, check: Check): void {
  const value = parseQuantity(quantity).value()
  if (value < 0) check.invalid(value, 'must be a valid resource quantity')
}

/** Never negative; whole where things are counted. */
export function validateResourceQuantity(name: string, quantity: string, check: Check): void {
  const parsed = parseQuantity(quantity)
  if (parsed.sign < 0) check.invalid(parsed.toString(), mustBeNonNegative)
  if (!hasWholeMillis(quantity) && isIntegerResource(name)) check.invalid(parsed.toString(), 'must be an integer')
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
