import { validatingAdmissionPolicyResource } from '#api/admissionregistration/v1/validating-admission-policy.ts'
import { validatingAdmissionPolicyBindingResource } from '#api/admissionregistration/v1/validating-admission-policy-binding.ts'
import { mutatingAdmissionPolicyResource } from '#api/admissionregistration/v1beta1/mutating-admission-policy.ts'
import { mutatingAdmissionPolicyBindingResource } from '#api/admissionregistration/v1beta1/mutating-admission-policy-binding.ts'
import {
  mutatingWebhookConfigurationResource,
  validatingWebhookConfigurationResource,
} from '#api/admissionregistration/v1beta1/webhook-configurations.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const oldPolicy = { version: 'v1beta1', deprecated: { deprecatedIn: '1.31', removedIn: '1.34' } } as const

export const admissionregistrationV1beta1: readonly ResourceDefinition[] = [
  mutatingAdmissionPolicyResource,
  mutatingAdmissionPolicyBindingResource,
  mutatingWebhookConfigurationResource,
  legacyVersion(validatingAdmissionPolicyResource, oldPolicy),
  legacyVersion(validatingAdmissionPolicyBindingResource, oldPolicy),
  validatingWebhookConfigurationResource,
]
