/** What calls to both kinds of webhooks have in common: they are timed and counted, and their failures mean what the webhook's policy says. */

import { internalError, StatusError } from '#api/meta/status-error.ts'
import type { AdmissionContext, AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { MatchConditions } from '#apiserver/admission/webhooks/asked-webhook.ts'
import { WebhookFailure, WebhookRejection } from '#apiserver/admission/webhooks/call-webhook.ts'
import type { Webhook } from '#apiserver/admission/webhooks/configured-webhooks.ts'
import type { RejectionCause, WebhookMetrics } from '#apiserver/admission/webhooks/webhook-metrics.ts'
import type { WebhookCall } from '#apiserver/webhooks/webhook-calls.ts'
import { errorMessage } from '#base/error-message.ts'

export type WebhookServices = Pick<AdmissionContext, 'cluster' | 'clock' | 'random' | 'logger' | 'webhooks'> & {
  readonly credentialsFor: WebhookCall['credentialsFor']
  readonly metrics: WebhookMetrics | undefined
  readonly conditionsHold: MatchConditions
}

export async function measuredCall(
  webhook: Webhook,
  { operation }: AdmissionRequest,
  { clock, metrics }: WebhookServices,
  call: () => Promise<void>,
): Promise<void> {
  const startedMs = clock.monotonic()
  const observe = (code: number, rejection: RejectionCause | undefined) =>
    metrics?.called({ name: webhook.name, operation, tookMs: clock.monotonic() - startedMs, code, rejection })
  try {
    await call()
    observe(200, undefined)
  } catch (error) {
    if (error instanceof WebhookFailure) observe(error.code, failsOpen(webhook, error) ? undefined : 'calling_webhook_error')
    else if (error instanceof WebhookRejection) observe(error.status.code, 'no_error')
    else observe(0, 'apiserver_internal_error')
    throw error
  }
}

/** The webhook is not needed that much. What it refused is refused all the same. */
export function failsOpen({ failurePolicy }: Webhook, error: unknown): boolean {
  return failurePolicy === 'Ignore' && error instanceof WebhookFailure
}

export function refusalOf(error: unknown): unknown {
  if (error instanceof WebhookRejection) return error.status
  if (error instanceof StatusError) return error
  return internalError(errorMessage(error))
}
