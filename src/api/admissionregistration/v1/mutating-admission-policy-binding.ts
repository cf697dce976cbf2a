import { MutatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/kinds.gen.ts'
import { defaultMatchResources, validateMatchResources, validateMutatingOperations } from '#api/admissionregistration/v1/match-resources.ts'
import { paramRefCell, validateParamRef } from '#api/admissionregistration/v1/parameters.ts'
import { staticSuffixWarnings, validateStaticSuffix } from '#api/admissionregistration/v1/static-suffix.ts'
import type { V1MutatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { dns1123Subdomain, mustBe, nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'

/** Puts a policy into force: for which objects, and with which parameters. */
export const mutatingAdmissionPolicyBindingResource = defineResource(MutatingAdmissionPolicyBinding, {
  finalizers: 'any',
  generation: 'spec',
  revalidatesMetadata: false,

  defaults: ({ spec }) => defaultMatchResources(spec?.matchResources),
  validate(_binding, check, context) {
    validateSpec(check.at('spec'))
    validateStaticSuffix(check, context)
  },
  validateUpdate(_next, _prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Subdomain, finalizers: 'any' })
    validateSpec(check.at('spec'))
  },
  warningsOnCreate: staticSuffixWarnings,
  warningsOnUpdate: staticSuffixWarnings,

  columns: [
    nameColumn,
    {
      name: 'PolicyName',
      type: 'string',
      description: 'PolicyName indicates the policy definition which the policy binding binded to',
      cell: ({ spec }) => spec?.policyName ?? '',
    },
    {
      name: 'ParamRef',
      type: 'string',
      description: 'ParamRef indicates the param resource which sets the configuration param',
      cell: ({ spec }) => paramRefCell(spec?.paramRef),
    },
    ageColumn,
  ],
})

function validateSpec(check: Check<V1MutatingAdmissionPolicyBinding['spec']>): void {
  const spec = check.value
  const { policyName, paramRef, matchResources } = spec ?? {}
  if (!policyName) check.at('policyName').required()
  else mustBe(dns1123Subdomain, check.at('policyName').with(policyName))
  validateParamRef(check.at('paramRef').with(paramRef))
  validateMatchResources(check.at('matchResources').with(matchResources))
  validateMutatingOperations(check.at('matchResources').with(matchResources))
}
