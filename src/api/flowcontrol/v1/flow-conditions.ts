import type { Check } from '#api/meta/check.ts'
import { each } from '#api/meta/each.ts'

/** `check` stands at the list. */
export function validateFlowConditions(conditions: readonly { type?: string }[] | undefined, check: Check): void {
  const types = new Set<string>()
  each(conditions, check, ({ type = '' }, at) => {
    if (types.has(type)) at.at('type').duplicate(type)
    types.add(type)
    if (type === '') at.at('type').required()
  })
}
