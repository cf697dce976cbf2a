/** Asks the webhooks that may change a request, one after the other. Loaded once there is one. */

import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { applyJsonPatch } from '#api/meta/patch/json-patch.ts'
import type { JsonObject, JsonValue } from '#api/meta/patch/json-value.ts'
import { PatchError } from '#api/meta/patch/patch-error.ts'
import { internalError } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { Invocations, Rounds } from '#apiserver/admission/reinvocation.ts'
import type { ShownVersion } from '#apiserver/admission/shown-version.ts'
import { askedWebhook } from '#apiserver/admission/webhooks/asked-webhook.ts'
import { callWebhook, WebhookFailure } from '#apiserver/admission/webhooks/call-webhook.ts'
import type { ConfiguredWebhook } from '#apiserver/admission/webhooks/configured-webhooks.ts'
import { keepReadable } from '#apiserver/admission/webhooks/keep-managed-fields.ts'
import { failsOpen, measuredCall, refusalOf, type WebhookServices } from '#apiserver/admission/webhooks/measured-call.ts'
import { timeLeftMs } from '#apiserver/admission/webhooks/time-left.ts'

/** As long as upstream lets a request take altogether. */
const requestLimitMs = 60_000

export async function mutateByWebhooks(
  webhooks: readonly ConfiguredWebhook[],
  request: AdmissionRequest,
  rounds: Rounds,
  services: WebhookServices,
): Promise<void> {
  const known = rounds.invocationsOf('MutatingAdmissionWebhook')
  known.begin(rounds, request.object, request.definition)
  const managedFields = request.object?.metadata?.managedFields
  for (const [index, configured] of webhooks.entries()) {
    const shown = await askedWebhook(configured, request, services.cluster, services.conditionsHold)
    if (shown === undefined || !known.isDue(configured.uid, rounds)) continue
    const round = `round_${rounds.isRepeat ? 1 : 0}_index_${index}`
    const isChanged = await ask(configured, request, shown, round, remainingMs(known, request, services), services)
    const wantsRepeat = configured.webhook.reinvocationPolicy === 'IfNeeded'
    known.invoked(configured.uid, rounds, { isChanged, wantsRepeat })
  }
  known.end(rounds, request.object)
  // A failure that is ignored may have used up all of the time.
  if (known.startedMs !== undefined) remainingMs(known, request, services)
  if (request.object !== undefined) keepReadable(request.object, managedFields, request.warn)
}

function remainingMs(known: Invocations, { deadlineMs = Number.POSITIVE_INFINITY }: AdmissionRequest, { clock }: WebhookServices): number {
  known.startedMs ??= clock.monotonic()
  return timeLeftMs(Math.min(known.startedMs + requestLimitMs, deadlineMs), clock)
}

/** Whether the object is another one now. */
async function ask(
  { webhook, configuration }: ConfiguredWebhook,
  request: AdmissionRequest,
  shown: ShownVersion,
  round: string,
  limitMs: number,
  services: WebhookServices,
): Promise<boolean> {
  const { name } = webhook
  const timeoutMs = Math.min((webhook.timeoutSeconds ?? 10) * 1000, limitMs)
  let isChanged = false
  try {
    await measuredCall(webhook, request, services, async () => {
      const { patch } = await callWebhook(webhook, request, shown, { ...services, isMutating: true, timeoutMs })
      const operations = patch === undefined ? [] : operationsOf(patch, name)
      if (operations.length === 0) return
      isChanged = await patched(request, shown, operations, name)
      const note = { configuration, webhook: name, patch: operations, patchType: 'JSONPatch' }
      request.annotateAudit(`patch.webhook.admission.k8s.io/${round}`, JSON.stringify(note), 'Request')
    })
  } catch (error) {
    if (!failsOpen(webhook, error)) throw refusalOf(error)
    services.logger.warn('admission webhook failed, ignoring it (failurePolicy Ignore)', {
      webhook: name,
      error: (error as Error).message,
    })
    services.metrics?.failedOpen(name)
    request.annotateAudit(`failed-open.mutation.webhook.admission.k8s.io/${round}`, name)
  } finally {
    const note = { configuration, webhook: name, mutated: isChanged }
    request.annotateAudit(`mutation.webhook.admission.k8s.io/${round}`, JSON.stringify(note))
  }
  return isChanged
}

function operationsOf(patch: string, webhook: string): JsonValue[] {
  try {
    const operations: unknown = JSON.parse(patch)
    if (operations === null) return []
    if (!Array.isArray(operations)) throw new Error('json: cannot unmarshal a value that is no list into Go value of type jsonpatch.Patch')
    return operations as JsonValue[]
  } catch (error) {
    throw new WebhookFailure(webhook, `received undecodable patch in webhook response: ${(error as Error).message}`, 503, { cause: error })
  }
}

/** A patch that does not fit is nobody's failure policy: the webhook answered, and what it wants cannot be done. */
async function patched(request: AdmissionRequest, shown: ShownVersion, operations: JsonValue[], webhook: string): Promise<boolean> {
  const object = await shown.object()
  if (object === undefined || request.object === undefined) {
    throw internalError(`admission webhook "${webhook}" attempted to modify the object, which is not supported for this operation`)
  }
  const before = deepCopy(request.object)
  let changed: JsonObject
  try {
    changed = applyJsonPatch(object as JsonObject, operations)
  } catch (error) {
    if (!(error instanceof PatchError)) throw error
    throw internalError(error.detail)
  }
  replaceContent(request.object, await shown.stored(changed))
  return !equalityOf(request.definition)(before, request.object)
}

/** In place: others hold on to the object. */
function replaceContent(object: KubernetesObject, next: object): void {
  const fields = object as Record<string, unknown>
  for (const key of Object.keys(fields)) if (!(key in next)) delete fields[key]
  Object.assign(fields, next)
}
