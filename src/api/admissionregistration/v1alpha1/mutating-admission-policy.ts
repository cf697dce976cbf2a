import { MutatingAdmissionPolicy as MutatingAdmissionPolicyV1 } from '#api/admissionregistration/v1/mutating-admission-policy.ts'
import type { V1alpha1MutatingAdmissionPolicy } from '#api/admissionregistration/v1alpha1/types.gen.ts'
import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'

export const MutatingAdmissionPolicy = defineResource<V1alpha1MutatingAdmissionPolicy>({
  ...MutatingAdmissionPolicyV1,
  version: 'v1alpha1',
  schema: 'io.k8s.api.admissionregistration.v1alpha1.MutatingAdmissionPolicy',
  stability: 'alpha',
  featureGate: 'MutatingAdmissionPolicy',
  storedAs: sameShape(MutatingAdmissionPolicyV1, 'v1alpha1'),
})
