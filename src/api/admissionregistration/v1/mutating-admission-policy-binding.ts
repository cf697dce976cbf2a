import { admissionKindRules } from '#api/admissionregistration/v1/admission-kind-rules.ts'
import { MutatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/kinds.gen.ts'
import { validateMutatingOperations } from '#api/admissionregistration/v1/match-resources.ts'
import { defaultPolicyBinding, policyBindingColumns, validatePolicyBinding } from '#api/admissionregistration/v1/policy-binding.ts'
import type { V1MutatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Puts a policy into force: for which objects, and with which parameters. */
export const mutatingAdmissionPolicyBindingResource = defineResource(MutatingAdmissionPolicyBinding, {
  generation: 'spec',
  defaults: defaultPolicyBinding,
  ...admissionKindRules<V1MutatingAdmissionPolicyBinding>((check) => {
    const at = check.at('spec')
    validatePolicyBinding(at)
    validateMutatingOperations(at.at('matchResources').with(at.value?.matchResources))
  }),
  columns: policyBindingColumns,
})
