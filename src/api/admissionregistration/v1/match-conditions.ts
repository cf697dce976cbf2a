/** Expressions that decide, request by request, whether a webhook or a policy applies. */
import { validateExpression } from '#api/admissionregistration/v1/compile-expression.ts'
import type { V1MatchCondition } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { mustBe, qualifiedName } from '#api/meta/names.ts'

const maxConditions = 64

export type MatchConditionOptions = { hasParams: boolean; stored: readonly V1MatchCondition[] }

export function validateMatchConditions(
  check: Check<readonly V1MatchCondition[] | undefined>,
  { hasParams, stored }: MatchConditionOptions,
): void {
  const conditions = check.value
  const count = conditions?.length ?? 0
  if (count > maxConditions) check.tooMany(count, maxConditions)
  const names = new Set<string>()
  check.each((item) => {
    const { name = '', expression = '' } = item.value
    const text = expression.trim()
    if (text === '') item.at('expression').required()
    else {
      const isStored = stored.some((each) => each.expression === text)
      validateExpression(
        item.at('expression').with({ use: 'matchCondition', text, hasParams, hasAuthorizer: true, isStored, variables: [] }),
      )
    }
    if (name === '') {
      item.at('name').required()
      return
    }
    mustBe(qualifiedName, item.at('name').or(''))
    if (names.has(name)) item.at('name').or('').duplicate()
    names.add(name)
  })
}
