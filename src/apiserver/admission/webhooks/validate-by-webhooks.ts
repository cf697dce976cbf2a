/** Asks the webhooks that validate a request, all at once. Loaded once there is one. */
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { ShownVersion } from '#apiserver/admission/shown-version.ts'
import { askedWebhook } from '#apiserver/admission/webhooks/asked-webhook.ts'
import { callWebhook } from '#apiserver/admission/webhooks/call-webhook.ts'
import type { ConfiguredWebhook, Webhook } from '#apiserver/admission/webhooks/configured-webhooks.ts'
import { failsOpen, measuredCall, refusalOf, type WebhookServices } from '#apiserver/admission/webhooks/measured-call.ts'
import { timeLeftMs } from '#apiserver/admission/webhooks/time-left.ts'

/** Throws the first refusal, in the order of the webhooks, after all have answered: others may warn or leave notes. */
export async function validateByWebhooks(
  webhooks: readonly ConfiguredWebhook[],
  request: AdmissionRequest,
  services: WebhookServices,
): Promise<void> {
  const asked: { webhook: Webhook; shown: ShownVersion }[] = []
  for (const configured of webhooks) {
    const shown = await askedWebhook(configured, request, services.cluster, services.conditionsHold)
    if (shown !== undefined) asked.push({ webhook: configured.webhook, shown })
  }
  if (asked.length === 0) return
  const { deadlineMs = Number.POSITIVE_INFINITY } = request
  const leftMs = timeLeftMs(deadlineMs, services.clock)
  const outcomes = await Promise.allSettled(asked.map(({ webhook, shown }, index) => ask(webhook, request, shown, index, leftMs, services)))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  // A failure that is ignored may have used up all of the time.
  timeLeftMs(deadlineMs, services.clock)
}

async function ask(
  webhook: Webhook,
  request: AdmissionRequest,
  shown: ShownVersion,
  index: number,
  leftMs: number,
  services: WebhookServices,
): Promise<void> {
  const { name, timeoutSeconds = 10 } = webhook
  try {
    await measuredCall(webhook, request, services, async () => {
      await callWebhook(webhook, request, shown, { ...services, isMutating: false, timeoutMs: Math.min(timeoutSeconds * 1000, leftMs) })
    })
  } catch (error) {
    if (!failsOpen(webhook, error)) throw refusalOf(error)
    services.logger.warn('admission webhook failed, ignoring it (failurePolicy Ignore)', {
      webhook: name,
      error: (error as Error).message,
    })
    services.metrics?.failedOpen(name)
    request.annotateAudit(`failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`, name)
  }
}
