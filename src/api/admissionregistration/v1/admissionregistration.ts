import { MutatingAdmissionPolicy } from '#api/admissionregistration/v1/mutating-admission-policy.ts'
import { MutatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/mutating-admission-policy-binding.ts'
import { MutatingWebhookConfiguration } from '#api/admissionregistration/v1/mutating-webhook-configuration.ts'
import { ValidatingAdmissionPolicy } from '#api/admissionregistration/v1/validating-admission-policy.ts'
import { ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/validating-admission-policy-binding.ts'
import { ValidatingWebhookConfiguration } from '#api/admissionregistration/v1/validating-webhook-configuration.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const admissionregistrationV1: readonly ResourceDefinition[] = [
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
]
