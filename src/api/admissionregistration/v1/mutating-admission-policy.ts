import { validateExpression } from '#api/admissionregistration/v1/compile-expression.ts'
import { MutatingAdmissionPolicy } from '#api/admissionregistration/v1/kinds.gen.ts'
import { defaultMatchResources, validateMutatingOperations } from '#api/admissionregistration/v1/match-resources.ts'
import { paramKindCell } from '#api/admissionregistration/v1/parameters.ts'
import { validateHead, validatePolicyMatchConditions, validateVariables } from '#api/admissionregistration/v1/policy.ts'
import { staticSuffixWarnings, validateStaticSuffix } from '#api/admissionregistration/v1/static-suffix.ts'
import type { V1MutatingAdmissionPolicySpec, V1Mutation } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { each } from '#api/meta/each.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'

/** Expressions that change every matching request. */
export const mutatingAdmissionPolicyResource = defineResource(MutatingAdmissionPolicy, {
  finalizers: 'any',
  generation: 'spec',
  rejudgesMetadata: false,

  defaults(policy) {
    policy.spec ??= {}
    policy.spec.failurePolicy ??= 'Fail'
    defaultMatchResources(policy.spec.matchConstraints)
  },
  validate(policy, check, context) {
    validateSpec(policy.spec, undefined, check.at('spec'))
    validateStaticSuffix(policy, check, context)
  },
  validateUpdate(next, prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Cluster', nameRule: nameIsDns1123Subdomain, finalizers: 'any' }, check.at('metadata'))
    validateSpec(next.spec, prev.spec, check.at('spec'))
  },
  warningsOnCreate: staticSuffixWarnings,
  warningsOnUpdate: staticSuffixWarnings,

  columns: [
    nameColumn,
    {
      name: 'Mutations',
      type: 'integer',
      description: 'Mutation indicates the number of mutations rules defined in this configuration',
      cell: ({ spec }) => spec?.mutations?.length ?? 0,
    },
    {
      name: 'ParamKind',
      type: 'string',
      description: 'ParamKind specifies the kind of resources used to parameterize this policy',
      cell: ({ spec }) => paramKindCell(spec?.paramKind),
    },
    ageColumn,
  ],
})

const reinvocationPolicies = ['IfNeeded', 'Never']
const patchTypes = ['ApplyConfiguration', 'JSONPatch']

function validateSpec(spec: V1MutatingAdmissionPolicySpec, prev: V1MutatingAdmissionPolicySpec | undefined, check: Check): void {
  const { mutations, reinvocationPolicy } = spec
  validateHead(spec, check)
  validateMutatingOperations(spec.matchConstraints, check.at('matchConstraints'))
  validatePolicyMatchConditions(spec, prev, check)
  validateVariables(spec.variables, check.at('variables'), { hasParams: spec.paramKind != null, stored: new Set() })
  if (!mutations?.length) check.at('mutations').required('mutations must contain at least one item')
  each(mutations, check.at('mutations'), (mutation, item) => validateMutation(mutation, item, spec, prev))
  if (!reinvocationPolicy) check.at('reinvocationPolicy').required()
  else if (!reinvocationPolicies.includes(reinvocationPolicy)) {
    check.at('reinvocationPolicy').notSupported(reinvocationPolicy, reinvocationPolicies)
  }
}

/** The kind of patch names the field that holds its expression, and rules the other one out. */
function validateMutation(
  mutation: V1Mutation,
  check: Check,
  { paramKind, variables = [] }: V1MutatingAdmissionPolicySpec,
  prev: V1MutatingAdmissionPolicySpec | undefined,
): void {
  const { patchType } = mutation
  if (!patchType) {
    check.at('patchType').required()
    return
  }
  if (patchType !== 'ApplyConfiguration' && patchType !== 'JSONPatch') {
    check.at('patchType').notSupported(patchType, patchTypes)
    return
  }
  const [field, other] =
    patchType === 'JSONPatch' ? (['jsonPatch', 'applyConfiguration'] as const) : (['applyConfiguration', 'jsonPatch'] as const)
  const patch = mutation[field]
  if (patch == null) check.at(field).required(`must be specified when patchType is ${patchType}`)
  else {
    const text = (patch.expression ?? '').trim()
    const isStored = prev?.mutations?.some((each) => each.applyConfiguration?.expression === patch.expression) ?? false
    if (text === '') check.at(field).at('expression').required()
    else {
      validateExpression(
        { use: field, text, hasParams: paramKind != null, hasAuthorizer: true, isStored, variables },
        check.at(field).at('expression'),
      )
    }
  }
  if (mutation[other] != null) check.at(other).invalid(`{${other}}`, `must not be specified when patchType is ${patchType}`)
}
