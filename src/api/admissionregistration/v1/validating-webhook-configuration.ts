import { admissionKindRules } from '#api/admissionregistration/v1/admission-kind-rules.ts'
import { ValidatingWebhookConfiguration } from '#api/admissionregistration/v1/kinds.gen.ts'
import type { V1ValidatingWebhookConfiguration } from '#api/admissionregistration/v1/types.gen.ts'
import { webhookConfigurationColumns } from '#api/admissionregistration/v1/webhook-configuration-columns.ts'
import { defaultWebhook, validatingWebhooks } from '#api/admissionregistration/v1/webhooks.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { defineResource } from '#api/resource.ts'

/** Webhooks that may refuse requests. */
export const validatingWebhookConfigurationResource = defineResource(ValidatingWebhookConfiguration, {
  generation: (next, prev) => !equalityOf(ValidatingWebhookConfiguration).at('webhooks')(next.webhooks, prev.webhooks),
  defaults({ webhooks }) {
    for (const webhook of webhooks ?? []) defaultWebhook(webhook)
  },
  ...admissionKindRules<V1ValidatingWebhookConfiguration>((check, prev, context) =>
    validatingWebhooks(check.at('webhooks'), prev && (prev.webhooks ?? []), context),
  ),
  columns: webhookConfigurationColumns,
})
