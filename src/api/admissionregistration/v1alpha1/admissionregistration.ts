import { mutatingAdmissionPolicyResource } from '#api/admissionregistration/v1alpha1/mutating-admission-policy.ts'
import { mutatingAdmissionPolicyBindingResource } from '#api/admissionregistration/v1alpha1/mutating-admission-policy-binding.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const admissionregistrationV1alpha1: readonly ResourceDefinition[] = [
  mutatingAdmissionPolicyResource,
  mutatingAdmissionPolicyBindingResource,
]
