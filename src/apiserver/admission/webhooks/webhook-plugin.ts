/** What the two webhook plugins are made of; the rest is loaded when the cluster has a webhook. */
import { createRequire } from 'node:module'
import type { AdmissionContext, AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { WebhookServices } from '#apiserver/admission/webhooks/measured-call.ts'
import { WebhookMetrics } from '#apiserver/admission/webhooks/webhook-metrics.ts'

const load = createRequire(import.meta.url)
const conditions = () =>
  load('#apiserver/admission/webhooks/match-conditions.ts') as typeof import('#apiserver/admission/webhooks/match-conditions.ts')

export function webhookServices(context: AdmissionContext, kind: 'mutating' | 'validating'): WebhookServices {
  const { cluster, clock, random, logger, webhooks } = context
  const metrics = context.metrics && new WebhookMetrics(context.metrics, kind)
  return {
    cluster,
    clock,
    random,
    logger,
    webhooks,
    credentialsFor: credentialsOf(context),
    metrics,
    async conditionsHold(webhook, request, shown) {
      const startedMs = clock.monotonic()
      const holds = await conditions().matchConditionsHold(webhook, request, shown, context)
      metrics?.conditionsEvaluated(webhook.name, request.operation, holds, clock.monotonic() - startedMs)
      return holds
    },
  }
}

/** Who may change webhooks and policies must be able to mend them, whatever those say. */
export function isExemptFromWebhooks({ definition: { group, plural } }: AdmissionRequest): boolean {
  return group === 'admissionregistration.k8s.io' && (plural.includes('admissionpolic') || plural.endsWith('webhookconfigurations'))
}

const configurationVersions = ['apiserver.config.k8s.io/v1', 'apiserver.config.k8s.io/v1alpha1']

/** The plugin's configuration names a kubeconfig, where there is one. */
function credentialsOf({ configuration, webhookCredentials }: AdmissionContext): WebhookServices['credentialsFor'] {
  if (configuration === undefined || configuration === null) return undefined
  const { apiVersion = '', kind = '', kubeConfigFile = '' } = configuration as Record<string, string>
  const isOld = kind === 'WebhookAdmission'
  if ((kind !== 'WebhookAdmissionConfiguration' && !isOld) || !configurationVersions.includes(apiVersion)) {
    throw new Error(
      `expected a WebhookAdmissionConfiguration of ${configurationVersions[0]}, got ${kind || 'nothing'} of ${apiVersion || 'no version'}`,
    )
  }
  return kubeConfigFile === '' ? undefined : webhookCredentials?.(kubeConfigFile)
}
