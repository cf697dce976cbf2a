import { ValidatingAdmissionPolicy } from '#api/admissionregistration/v1/validating-admission-policy.ts'
import { ValidatingAdmissionPolicyBinding } from '#api/admissionregistration/v1/validating-admission-policy-binding.ts'
import { MutatingAdmissionPolicy } from '#api/admissionregistration/v1beta1/mutating-admission-policy.ts'
import { MutatingAdmissionPolicyBinding } from '#api/admissionregistration/v1beta1/mutating-admission-policy-binding.ts'
import { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from '#api/admissionregistration/v1beta1/webhook-configurations.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const oldPolicy = { version: 'v1beta1', deprecated: { deprecatedIn: '1.31', removedIn: '1.34' } } as const

export const admissionregistrationV1beta1: readonly ResourceDefinition[] = [
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  legacyVersion(ValidatingAdmissionPolicy, oldPolicy),
  legacyVersion(ValidatingAdmissionPolicyBinding, oldPolicy),
  ValidatingWebhookConfiguration,
]
