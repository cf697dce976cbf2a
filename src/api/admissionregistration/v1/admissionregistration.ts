import { mutatingAdmissionPolicyResource } from '#api/admissionregistration/v1/mutating-admission-policy.ts'
import { mutatingAdmissionPolicyBindingResource } from '#api/admissionregistration/v1/mutating-admission-policy-binding.ts'
import { mutatingWebhookConfigurationResource } from '#api/admissionregistration/v1/mutating-webhook-configuration.ts'
import { validatingAdmissionPolicyResource } from '#api/admissionregistration/v1/validating-admission-policy.ts'
import { validatingAdmissionPolicyBindingResource } from '#api/admissionregistration/v1/validating-admission-policy-binding.ts'
import { validatingWebhookConfigurationResource } from '#api/admissionregistration/v1/validating-webhook-configuration.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const admissionregistrationV1: readonly ResourceDefinition[] = [
  mutatingAdmissionPolicyResource,
  mutatingAdmissionPolicyBindingResource,
  mutatingWebhookConfigurationResource,
  validatingAdmissionPolicyResource,
  validatingAdmissionPolicyBindingResource,
  validatingWebhookConfigurationResource,
]
