/** Arithmetic over amounts by name. Nothing is changed in place. */
import type { Quantities } from '#api/core/v1/resources.ts'
import { parseQuantity, type Quantity, zeroQuantity } from '#api/meta/quantity.ts'

type Texts = { readonly [name: string]: string } | undefined

export function parsedQuantities(texts: Texts): Quantities {
  const parsed: Quantities = {}
  for (const name in texts) parsed[name] = parseQuantity(texts[name] ?? '0')
  return parsed
}

export function quantityTexts(amounts: Quantities): { [name: string]: string } {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, amount.toString()]))
}

export function sum(first: Quantities, second: Quantities): Quantities {
  const total = { ...first }
  for (const [name, amount] of Object.entries(second)) total[name] = total[name]?.add(amount) ?? amount
  return total
}

/** What `next` uses more than `prev`; less is zero. */
export function increase(next: Quantities, prev: Quantities): Quantities {
  const more: Quantities = {}
  for (const name of new Set([...Object.keys(next), ...Object.keys(prev)])) {
    const difference = (next[name] ?? zeroQuantity).sub(prev[name] ?? zeroQuantity)
    more[name] = difference.sign > 0 ? difference : zeroQuantity
  }
  return more
}

export function pick(amounts: Quantities, names: readonly string[]): Quantities {
  const wanted = new Set(names)
  return filtered(amounts, (_, name) => wanted.has(name))
}

export const withoutZeros = (amounts: Quantities): Quantities => filtered(amounts, (amount) => !amount.isZero)

export function filtered(amounts: Quantities, holds: (amount: Quantity, name: string) => boolean): Quantities {
  return Object.fromEntries(Object.entries(amounts).filter(([name, amount]) => holds(amount, name)))
}
