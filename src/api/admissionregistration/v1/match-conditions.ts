/** Expressions that decide, request by request, whether a webhook or a policy applies. */
import { validateExpression } from '#api/admissionregistration/v1/compile-expression.ts'
import type { V1MatchCondition } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { each } from '#api/meta/each.ts'
import { mustBe, qualifiedName } from '#api/meta/names.ts'

const maxConditions = 64

export type MatchConditionOptions = { hasParams: boolean; stored: readonly V1MatchCondition[] }

export function validateMatchConditions(
  conditions: readonly V1MatchCondition[] | undefined,
  check: Check,
  { hasParams, stored }: MatchConditionOptions,
): void {
  const count = conditions?.length ?? 0
  if (count > maxConditions) check.tooMany(count, maxConditions)
  const names = new Set<string>()
  each(conditions, check, ({ name = '', expression = '' }, item) => {
    const text = expression.trim()
    if (text === '') item.at('expression').required()
    else {
      const isStored = stored.some((each) => each.expression === text)
      validateExpression({ use: 'matchCondition', text, hasParams, hasAuthorizer: true, isStored, variables: [] }, item.at('expression'))
    }
    if (name === '') {
      item.at('name').required()
      return
    }
    mustBe(qualifiedName, name, item.at('name'))
    if (names.has(name)) item.at('name').duplicate(name)
    names.add(name)
  })
}
