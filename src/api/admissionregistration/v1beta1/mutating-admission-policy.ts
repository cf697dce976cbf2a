import { MutatingAdmissionPolicy as MutatingAdmissionPolicyV1 } from '#api/admissionregistration/v1/mutating-admission-policy.ts'
import type { V1beta1MutatingAdmissionPolicy } from '#api/admissionregistration/v1beta1/types.gen.ts'
import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'

export const MutatingAdmissionPolicy = defineResource<V1beta1MutatingAdmissionPolicy>({
  ...MutatingAdmissionPolicyV1,
  version: 'v1beta1',
  schema: 'io.k8s.api.admissionregistration.v1beta1.MutatingAdmissionPolicy',
  stability: 'beta',
  featureGate: 'MutatingAdmissionPolicy',
  storedAs: sameShape(MutatingAdmissionPolicyV1, 'v1beta1'),
})
