import { mutatingAdmissionPolicyResource as mutatingAdmissionPolicyV1 } from '#api/admissionregistration/v1/mutating-admission-policy.ts'
import { MutatingAdmissionPolicy } from '#api/admissionregistration/v1alpha1/kinds.gen.ts'
import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'

export const mutatingAdmissionPolicyResource = defineResource(MutatingAdmissionPolicy, {
  ...mutatingAdmissionPolicyV1,
  featureGate: 'MutatingAdmissionPolicy',
  storedAs: sameShape(mutatingAdmissionPolicyV1, 'v1alpha1'),
})
