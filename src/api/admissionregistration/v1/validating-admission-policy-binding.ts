import { admissionKindRules } from '#api/admissionregistration/v1/admission-kind-rules.ts'
import { ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/kinds.gen.ts'
import { defaultPolicyBinding, policyBindingColumns, validatePolicyBinding } from '#api/admissionregistration/v1/policy-binding.ts'
import type { V1ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { defineResource } from '#api/resource.ts'

/** Puts a policy into force: for which objects, with which parameters, and what happens to a request that fails it. */
export const validatingAdmissionPolicyBindingResource = defineResource(ValidatingAdmissionPolicyBinding, {
  generation: 'spec',
  defaults: defaultPolicyBinding,
  ...admissionKindRules<V1ValidatingAdmissionPolicyBinding>((check) => {
    const at = check.at('spec')
    validatePolicyBinding(at)
    validateActions(at.at('validationActions').with(at.value?.validationActions ?? []))
  }),
  columns: policyBindingColumns,
})

const actions = ['Audit', 'Deny', 'Warn']

function validateActions(check: Check<readonly string[]>): void {
  const seen = new Set<string>()
  check.each((item) => {
    const action = item.value
    if (!actions.includes(action)) item.notSupported(actions)
    if (seen.has(action)) item.duplicate()
    seen.add(action)
  })
  if (seen.has('Deny') && seen.has('Warn')) {
    check.invalid(
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    )
  }
  if (seen.size === 0) check.required('at least one validation action is required')
}
