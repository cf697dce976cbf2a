import { createRequire } from 'node:module'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { followWebhooks } from '#apiserver/admission/webhooks/configured-webhooks.ts'
import { isExemptFromWebhooks, webhookServices } from '#apiserver/admission/webhooks/webhook-plugin.ts'

const load = createRequire(import.meta.url)
const calls = () =>
  load('#apiserver/admission/webhooks/mutate-by-webhooks.ts') as typeof import('#apiserver/admission/webhooks/mutate-by-webhooks.ts')

/** Servers that the cluster names change what is written. */
export function mutatingAdmissionWebhook(context: AdmissionContext): AdmissionPlugin {
  const webhooks = followWebhooks(context.cluster, 'mutating')
  const services = webhookServices(context, 'mutating')
  return {
    name: 'MutatingAdmissionWebhook',
    operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    mutate(request, rounds) {
      if (webhooks().length === 0 || isExemptFromWebhooks(request)) return undefined
      return calls().mutateByWebhooks(webhooks(), request, rounds, services)
    },
  }
}
