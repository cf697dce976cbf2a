import { MutatingAdmissionPolicyBinding as MutatingAdmissionPolicyBindingV1 } from '#api/admissionregistration/v1/mutating-admission-policy-binding.ts'
import type { V1beta1MutatingAdmissionPolicyBinding } from '#api/admissionregistration/v1beta1/types.gen.ts'
import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'

export const MutatingAdmissionPolicyBinding = defineResource<V1beta1MutatingAdmissionPolicyBinding>({
  ...MutatingAdmissionPolicyBindingV1,
  version: 'v1beta1',
  schema: 'io.k8s.api.admissionregistration.v1beta1.MutatingAdmissionPolicyBinding',
  stability: 'beta',
  featureGate: 'MutatingAdmissionPolicy',
  storedAs: sameShape(MutatingAdmissionPolicyBindingV1, 'v1beta1'),
})
