import { mutatingWebhookConfigurationResource as mutatingWebhookConfigurationV1 } from '#api/admissionregistration/v1/mutating-webhook-configuration.ts'
import type { V1MutatingWebhookConfiguration, V1ValidatingWebhookConfiguration } from '#api/admissionregistration/v1/types.gen.ts'
import { validatingWebhookConfigurationResource as validatingWebhookConfigurationV1 } from '#api/admissionregistration/v1/validating-webhook-configuration.ts'
import type {
  V1beta1MutatingWebhookConfiguration,
  V1beta1ValidatingWebhook,
  V1beta1ValidatingWebhookConfiguration,
} from '#api/admissionregistration/v1beta1/types.gen.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'

const old = {
  version: 'v1beta1',
  deprecated: { deprecatedIn: '1.16', removedIn: '1.22' },
  defaults({ webhooks }: { webhooks?: V1beta1ValidatingWebhook[] }) {
    for (const webhook of webhooks ?? []) defaultWebhook(webhook)
  },
} as const

export const mutatingWebhookConfigurationResource = legacyVersion<V1beta1MutatingWebhookConfiguration, V1MutatingWebhookConfiguration>(
  mutatingWebhookConfigurationV1,
  old,
)

export const validatingWebhookConfigurationResource = legacyVersion<
  V1beta1ValidatingWebhookConfiguration,
  V1ValidatingWebhookConfiguration
>(validatingWebhookConfigurationV1, old)

/** Webhooks were taken for less trustworthy: one that fails is passed over. */
function defaultWebhook(webhook: V1beta1ValidatingWebhook): void {
  webhook.failurePolicy ??= 'Ignore'
  webhook.matchPolicy ??= 'Exact'
  webhook.sideEffects ??= 'Unknown'
  webhook.timeoutSeconds ??= 30
  if (!webhook.admissionReviewVersions?.length) webhook.admissionReviewVersions = ['v1beta1']
}
