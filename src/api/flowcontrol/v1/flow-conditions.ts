import type { Check } from '#api/meta/check.ts'

/** `check` stands at the list. */
export function validateFlowConditions(check: Check<readonly { type?: string }[] | undefined>): void {
  const types = new Set<string>()
  check.each((at) => {
    const { type = '' } = at.value
    if (types.has(type)) at.at('type').or('').duplicate()
    types.add(type)
    if (type === '') at.at('type').required()
  })
}
