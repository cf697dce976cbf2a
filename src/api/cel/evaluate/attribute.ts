import { identifierCost } from '#api/cel/cost/call-cost.ts'
import type { Run } from '#api/cel/evaluate/frame.ts'
import { type Expression, operators } from '#api/cel/syntax/expression.ts'
import { CelError, type Value } from '#api/cel/values/value.ts'

/** What is looked up rather than computed: one step for each name, and none for the value in between. */
export const isAttribute = (expression: Expression): boolean =>
  expression.kind === 'identifier' ||
  expression.kind === 'select' ||
  (expression.kind === 'call' && (expression.name === operators.index || expression.name === operators.optionalIndex))

export function readSlot(slot: number): Run {
  return (frame) => {
    frame.charge(identifierCost)
    const value = frame.slots[slot] as Value | CelError
    if (value instanceof CelError) throw value
    return value
  }
}
