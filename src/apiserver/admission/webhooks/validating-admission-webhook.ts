import { createRequire } from 'node:module'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { followWebhooks } from '#apiserver/admission/webhooks/configured-webhooks.ts'
import { isExemptFromWebhooks, webhookServices } from '#apiserver/admission/webhooks/webhook-plugin.ts'

const load = createRequire(import.meta.url)
const calls = () =>
  load('#apiserver/admission/webhooks/validate-by-webhooks.ts') as typeof import('#apiserver/admission/webhooks/validate-by-webhooks.ts')

/** Servers that the cluster names say what may be written. */
export function validatingAdmissionWebhook(context: AdmissionContext): AdmissionPlugin {
  const webhooks = followWebhooks(context.cluster, 'validating')
  const services = webhookServices(context, 'validating')
  return {
    name: 'ValidatingAdmissionWebhook',
    operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    validate(request) {
      if (webhooks().length === 0 || isExemptFromWebhooks(request)) return undefined
      return calls().validateByWebhooks(webhooks(), request, services)
    },
  }
}
