/** Expressions that decide, request by request, whether a webhook or a policy applies. */
import { type PolicyExpression, validateExpression } from '#api/admissionregistration/v1/compile-expression.ts'
import type { V1MatchCondition } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { mustBe, qualifiedName } from '#api/meta/names.ts'
import type { Steps } from '#base/steps.ts'

const maxConditions = 64

export type MatchConditionOptions = { hasParams: boolean /** The expressions that are stored. */; stored: ReadonlySet<string> }

const noVariables: PolicyExpression['variables'] = new Map()

export function* validatingMatchConditions(
  check: Check<readonly V1MatchCondition[] | undefined>,
  { hasParams, stored }: MatchConditionOptions,
): Steps<void> {
  const conditions = check.value
  const count = conditions?.length ?? 0
  if (count > maxConditions) check.tooMany(count, maxConditions)
  const names = new Set<string>()
  for (const item of check.items()) {
    yield
    const { name = '', expression = '' } = item.value
    const text = expression.trim()
    if (text === '') item.at('expression').required()
    else {
      const isStored = stored.has(text)
      validateExpression(
        item.at('expression').with({ use: 'matchCondition', text, hasParams, hasAuthorizer: true, isStored, variables: noVariables }),
      )
    }
    if (name === '') {
      item.at('name').required()
      continue
    }
    mustBe(qualifiedName, item.at('name').or(''))
    if (names.has(name)) item.at('name').or('').duplicate()
    names.add(name)
  }
}
