import { admissionKindRules } from '#api/admissionregistration/v1/admission-kind-rules.ts'
import { MutatingWebhookConfiguration } from '#api/admissionregistration/v1/kinds.gen.ts'
import type { V1MutatingWebhookConfiguration } from '#api/admissionregistration/v1/types.gen.ts'
import { webhookConfigurationColumns } from '#api/admissionregistration/v1/webhook-configuration-columns.ts'
import { defaultWebhook, validatingWebhooks } from '#api/admissionregistration/v1/webhooks.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { defineResource } from '#api/resource.ts'

/** Webhooks that may change requests, and refuse them. */
export const mutatingWebhookConfigurationResource = defineResource(MutatingWebhookConfiguration, {
  generation: (next, prev) => !equalityOf(MutatingWebhookConfiguration).at('webhooks')(next.webhooks, prev.webhooks),
  defaults({ webhooks }) {
    for (const webhook of webhooks ?? []) {
      defaultWebhook(webhook)
      webhook.reinvocationPolicy ??= 'Never'
    }
  },
  ...admissionKindRules<V1MutatingWebhookConfiguration>((check, prev, context) =>
    validatingWebhooks(check.at('webhooks'), prev && (prev.webhooks ?? []), context),
  ),
  columns: webhookConfigurationColumns,
})
