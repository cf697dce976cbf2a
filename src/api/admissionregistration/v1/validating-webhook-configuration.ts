import { ValidatingWebhookConfiguration } from '#api/admissionregistration/v1/kinds.gen.ts'
import { staticSuffixWarnings, validateStaticSuffix } from '#api/admissionregistration/v1/static-suffix.ts'
import { defaultWebhook, validateWebhooks } from '#api/admissionregistration/v1/webhooks.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'

/** Webhooks that may refuse requests. */
export const validatingWebhookConfigurationResource = defineResource(ValidatingWebhookConfiguration, {
  finalizers: 'any',
  generation: (next, prev) => !equalityOf(ValidatingWebhookConfiguration).at('webhooks')(next.webhooks, prev.webhooks),
  revalidatesMetadata: false,

  defaults({ webhooks }) {
    for (const webhook of webhooks ?? []) defaultWebhook(webhook)
  },
  validate(_configuration, check, context) {
    validateWebhooks(check.at('webhooks'), undefined, context)
    validateStaticSuffix(check, context)
  },
  validateUpdate(_next, prev, check, context) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsDns1123Subdomain, finalizers: 'any' })
    validateWebhooks(check.at('webhooks'), prev.webhooks ?? [], context)
  },
  warningsOnCreate: staticSuffixWarnings,
  warningsOnUpdate: staticSuffixWarnings,

  columns: [
    nameColumn,
    {
      name: 'Webhooks',
      type: 'integer',
      description: 'Webhooks indicates the number of webhooks registered in this configuration',
      cell: ({ webhooks }) => webhooks?.length ?? 0,
    },
    ageColumn,
  ],
})
