/** What policies that validate requests and policies that change them have in common. */

import { validateExpression } from '#api/admissionregistration/v1/compile-expression.ts'
import { ValidatingAdmissionPolicy } from '#api/admissionregistration/v1/kinds.gen.ts'
import { validatingMatchConditions } from '#api/admissionregistration/v1/match-conditions.ts'
import { defaultMatchResources, validateMatchConstraints } from '#api/admissionregistration/v1/match-resources.ts'
import { paramKindCell, validateParamKind } from '#api/admissionregistration/v1/parameters.ts'
import type { V1MutatingAdmissionPolicySpec, V1ValidatingAdmissionPolicySpec, V1Variable } from '#api/admissionregistration/v1/types.gen.ts'
import type { CelType } from '#api/cel/types/cel-type.ts'
import type { Check } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import type { Column } from '#api/resource.ts'
import type { Steps } from '#base/steps.ts'

/** Mutating policies have the same. */
const sameSpec = equalityOf(ValidatingAdmissionPolicy).at('spec')

const failurePolicies = ['Fail', 'Ignore']

type PolicySpec = V1ValidatingAdmissionPolicySpec | V1MutatingAdmissionPolicySpec

export function defaultPolicy(policy: { spec?: PolicySpec }): void {
  policy.spec ??= {}
  policy.spec.failurePolicy ??= 'Fail'
  defaultMatchResources(policy.spec.matchConstraints)
}

export const paramKindColumn: Column<{ spec?: PolicySpec }> = {
  name: 'ParamKind',
  type: 'string',
  description: 'ParamKind specifies the kind of resources used to parameterize this policy',
  cell: ({ spec }) => paramKindCell(spec?.paramKind),
}

/** Everything up to the match constraints. */
export function validateHead(check: Check<PolicySpec>): void {
  const { failurePolicy, paramKind } = check.value
  if (failurePolicy == null) check.at('failurePolicy').required()
  else if (!failurePolicies.includes(failurePolicy)) check.at('failurePolicy').notSupported(failurePolicies)
  if (paramKind != null) validateParamKind(check.at('paramKind').present)
  validateMatchConstraints(check.at('matchConstraints'))
}

/** Match conditions that an update leaves alone are not validated again: what they may use has grown since they were. */
export function* validatingPolicyMatchConditions(check: Check<PolicySpec>, prev: PolicySpec | undefined): Steps<void> {
  const spec = check.value
  const { paramKind, matchConditions } = spec
  if (
    prev !== undefined &&
    sameSpec.at('paramKind')(paramKind, prev.paramKind) &&
    sameSpec.at('matchConditions')(matchConditions, prev.matchConditions)
  )
    return
  yield* validatingMatchConditions(check.at('matchConditions'), {
    hasParams: paramKind != null,
    stored: new Set(prev?.matchConditions?.map(({ expression }) => expression)),
  })
}

const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/
const reservedWords = new Set([
  ...['true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import', 'let'],
  ...['loop', 'package', 'namespace', 'return', 'var', 'void', 'while'],
])

/** Tells the types of those that compile. `stored` holds the expressions that stand in the stored policy. */
export function* validatingVariables(
  check: Check<readonly V1Variable[] | undefined>,
  { hasParams, stored }: { hasParams: boolean; stored: ReadonlySet<string> },
): Steps<ReadonlyMap<string, CelType>> {
  const types = new Map<string, CelType>()
  for (const item of check.items()) {
    const { name = '', expression = '' } = item.value
    if (name.trim() === '') item.at('name').required('name is not specified')
    else if (!identifier.test(name) || reservedWords.has(name)) item.at('name').or('').invalid('must be a valid CEL identifier')
    if (expression.trim() === '') item.at('expression').required('expression is not specified')
    else {
      const type = validateExpression(
        item.at('expression').with({
          use: 'variable',
          text: expression,
          hasParams,
          hasAuthorizer: true,
          isStored: stored.has(expression),
          variables: types,
        }),
      )
      if (type !== undefined) types.set(name, type)
    }
    yield
  }
  return types
}
