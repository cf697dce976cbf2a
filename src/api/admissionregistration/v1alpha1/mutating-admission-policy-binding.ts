import { MutatingAdmissionPolicyBinding as MutatingAdmissionPolicyBindingV1 } from '#api/admissionregistration/v1/mutating-admission-policy-binding.ts'
import type { V1alpha1MutatingAdmissionPolicyBinding } from '#api/admissionregistration/v1alpha1/types.gen.ts'
import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'

export const MutatingAdmissionPolicyBinding = defineResource<V1alpha1MutatingAdmissionPolicyBinding>({
  ...MutatingAdmissionPolicyBindingV1,
  version: 'v1alpha1',
  schema: 'io.k8s.api.admissionregistration.v1alpha1.MutatingAdmissionPolicyBinding',
  stability: 'alpha',
  featureGate: 'MutatingAdmissionPolicy',
  defaults(binding) {
    MutatingAdmissionPolicyBindingV1.defaults?.(binding as Parameters<NonNullable<typeof MutatingAdmissionPolicyBindingV1.defaults>>[0])
    if (binding.spec?.paramRef != null) binding.spec.paramRef.parameterNotFoundAction ??= 'Deny'
  },
  storedAs: sameShape(MutatingAdmissionPolicyBindingV1, 'v1alpha1'),
})
