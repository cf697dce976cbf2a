import { admissionKindRules } from '#api/admissionregistration/v1/admission-kind-rules.ts'
import { type PolicyExpression, validateExpression } from '#api/admissionregistration/v1/compile-expression.ts'
import { MutatingAdmissionPolicy } from '#api/admissionregistration/v1/kinds.gen.ts'
import { validateMutatingOperations } from '#api/admissionregistration/v1/match-resources.ts'
import {
  defaultPolicy,
  paramKindColumn,
  validateHead,
  validatingPolicyMatchConditions,
  validatingVariables,
} from '#api/admissionregistration/v1/policy.ts'
import type { V1MutatingAdmissionPolicy, V1MutatingAdmissionPolicySpec, V1Mutation } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { defineResource } from '#api/resource.ts'
import type { Steps } from '#base/steps.ts'

/** Expressions that change every matching request. */
export const mutatingAdmissionPolicyResource = defineResource(MutatingAdmissionPolicy, {
  generation: 'spec',
  defaults: defaultPolicy,
  ...admissionKindRules<V1MutatingAdmissionPolicy>((check, prev) => validatingSpec(check.at('spec'), prev?.spec)),

  columns: [
    nameColumn,
    {
      name: 'Mutations',
      type: 'integer',
      description: 'Mutation indicates the number of mutations rules defined in this configuration',
      cell: ({ spec }) => spec?.mutations?.length ?? 0,
    },
    paramKindColumn,
    ageColumn,
  ],
})

const reinvocationPolicies = ['IfNeeded', 'Never']
const patchTypes = ['ApplyConfiguration', 'JSONPatch']

function* validatingSpec(check: Check<V1MutatingAdmissionPolicySpec>, prev: V1MutatingAdmissionPolicySpec | undefined): Steps<void> {
  const spec = check.value
  const { mutations, reinvocationPolicy } = spec
  validateHead(check)
  validateMutatingOperations(check.at('matchConstraints'))
  yield* validatingPolicyMatchConditions(check, prev)
  const hasParams = spec.paramKind != null
  const variables = yield* validatingVariables(check.at('variables'), { hasParams, stored: new Set() })
  if (!mutations?.length) check.at('mutations').required('mutations must contain at least one item')
  const stored = new Set(prev?.mutations?.map(({ applyConfiguration }) => applyConfiguration?.expression))
  for (const item of check.at('mutations').items()) {
    validateMutation(item, { hasParams, variables, stored })
    yield
  }
  if (!reinvocationPolicy) check.at('reinvocationPolicy').required()
  else if (!reinvocationPolicies.includes(reinvocationPolicy)) {
    check.at('reinvocationPolicy').notSupported(reinvocationPolicies)
  }
}

/** The kind of patch names the field that holds its expression, and rules the other one out. */
function validateMutation(
  check: Check<V1Mutation>,
  { hasParams, variables, stored }: Pick<PolicyExpression, 'hasParams' | 'variables'> & { stored: ReadonlySet<string | undefined> },
): void {
  const mutation = check.value
  const { patchType } = mutation
  if (!patchType) {
    check.at('patchType').required()
    return
  }
  if (patchType !== 'ApplyConfiguration' && patchType !== 'JSONPatch') {
    check.at('patchType').notSupported(patchTypes)
    return
  }
  const [field, other] =
    patchType === 'JSONPatch' ? (['jsonPatch', 'applyConfiguration'] as const) : (['applyConfiguration', 'jsonPatch'] as const)
  const patch = mutation[field]
  if (patch == null) check.at(field).required(`must be specified when patchType is ${patchType}`)
  else {
    const text = (patch.expression ?? '').trim()
    const isStored = stored.has(patch.expression)
    if (text === '') check.at(field).at('expression').required()
    else {
      validateExpression(check.at(field).at('expression').with({ use: field, text, hasParams, hasAuthorizer: true, isStored, variables }))
    }
  }
  if (mutation[other] != null) check.at(other).invalid(`must not be specified when patchType is ${patchType}`, `{${other}}`)
}
