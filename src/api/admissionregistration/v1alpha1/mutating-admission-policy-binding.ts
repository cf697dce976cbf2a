import { mutatingAdmissionPolicyBindingResource as mutatingAdmissionPolicyBindingV1 } from '#api/admissionregistration/v1/mutating-admission-policy-binding.ts'
import { defaultPolicyBinding } from '#api/admissionregistration/v1/policy-binding.ts'
import { MutatingAdmissionPolicyBinding } from '#api/admissionregistration/v1alpha1/kinds.gen.ts'
import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'

export const mutatingAdmissionPolicyBindingResource = defineResource(MutatingAdmissionPolicyBinding, {
  ...mutatingAdmissionPolicyBindingV1,
  featureGate: 'MutatingAdmissionPolicy',
  defaults(binding) {
    defaultPolicyBinding(binding)
    if (binding.spec?.paramRef != null) binding.spec.paramRef.parameterNotFoundAction ??= 'Deny'
  },
  storedAs: sameShape(mutatingAdmissionPolicyBindingV1, 'v1alpha1'),
})
