import { mutatingAdmissionPolicyBindingResource as mutatingAdmissionPolicyBindingV1 } from '#api/admissionregistration/v1/mutating-admission-policy-binding.ts'
import { MutatingAdmissionPolicyBinding } from '#api/admissionregistration/v1beta1/kinds.gen.ts'
import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'

export const mutatingAdmissionPolicyBindingResource = defineResource(MutatingAdmissionPolicyBinding, {
  ...mutatingAdmissionPolicyBindingV1,
  featureGate: 'MutatingAdmissionPolicy',
  storedAs: sameShape(mutatingAdmissionPolicyBindingV1, 'v1beta1'),
})
