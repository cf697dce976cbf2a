/** One call to one webhook: what it says of the request, or why there is no knowing. */
import { quoted } from '#api/meta/check.ts'
import { badRequest, StatusError } from '#api/meta/status-error.ts'
import type { V1Status } from '#api/meta/v1/types.gen.ts'
import type { AdmissionContext, AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { ShownVersion } from '#apiserver/admission/shown-version.ts'
import {
  type ReviewAnswer,
  reviewAnswer,
  reviewText,
  reviewVersion,
  UnreadableAnswer,
  UnsupportedPatchType,
} from '#apiserver/admission/webhooks/admission-review.ts'
import type { Webhook } from '#apiserver/admission/webhooks/configured-webhooks.ts'
import { type WebhookCall, WebhookCallFailed, type WebhookClientConfig } from '#apiserver/webhooks/webhook-calls.ts'
import { formatDurationMs } from '#base/duration.ts'

/** The webhook could not be asked, or its answer is none: its failure policy decides. */
export class WebhookFailure extends Error {
  override name = 'WebhookFailure'
  /** As it is counted. */
  readonly code: number

  constructor(webhook: string, reason: string, code: number, options: ErrorOptions = {}) {
    super(`failed calling webhook ${quoted(webhook)}: ${reason}`, options)
    this.code = code
  }
}

/** The webhook said no. */
export class WebhookRejection extends Error {
  override name = 'WebhookRejection'
  readonly status: StatusError

  constructor(status: StatusError) {
    super(status.message)
    this.status = status
  }
}

/** As large an object as is ever stored, a third more for the encoding, and a bit for the rest. */
const answerLimitBytes = 4.5 * (1 << 20)
const withoutSideEffects = ['None', 'NoneOnDryRun']

export type CallOptions = { isMutating: boolean; timeoutMs: number } & Pick<AdmissionContext, 'webhooks' | 'random'> &
  Pick<WebhookCall, 'credentialsFor'>

/** Throws `WebhookFailure`, `WebhookRejection`, or a StatusError where nobody may decide otherwise. */
export async function callWebhook(
  webhook: Webhook,
  request: AdmissionRequest,
  shown: ShownVersion,
  { isMutating, timeoutMs, webhooks, random, credentialsFor }: CallOptions,
): Promise<ReviewAnswer> {
  const { name, sideEffects } = webhook
  if (request.isDryRun) {
    if (sideEffects === undefined) throw new WebhookFailure(name, 'Webhook SideEffects is nil', 400)
    if (!withoutSideEffects.includes(sideEffects)) throw badRequest(`admission webhook ${quoted(name)} does not support dry run`)
  }
  const version = reviewVersion(webhook.admissionReviewVersions)
  if (version === undefined) {
    const why = 'webhook does not accept known AdmissionReview versions (v1, v1beta1)'
    throw new WebhookFailure(name, `could not create admission objects: ${why}`, 400)
  }
  if (webhooks === undefined) throw new WebhookFailure(name, 'this API server calls nobody', 503)
  const uid = random.uuid()
  const body = await reviewText(version, uid, request, shown)
  const wholeSeconds = Math.ceil(timeoutMs / 1000)
  const call = { body, credentialsFor, timeoutMs, answerLimitBytes, query: `timeout=${formatDurationMs(wholeSeconds * 1000)}` }
  const answer = await webhooks.post(webhook.clientConfig as WebhookClientConfig, call).then(
    (text) => checked(() => reviewAnswer(text, version, uid, isMutating), name),
    (error: unknown) => {
      const code = error instanceof WebhookCallFailed && error.code > 0 ? error.code : 503
      throw new WebhookFailure(name, `failed to call webhook: ${(error as Error).message}`, code, { cause: error })
    },
  )
  for (const [key, value] of Object.entries(answer.auditAnnotations)) request.annotateAudit(`${name}/${key}`, value)
  for (const warning of answer.warnings) request.warn(warning)
  if (!answer.isAllowed) throw new WebhookRejection(denial(name, answer.status))
  return answer
}

function checked(read: () => ReviewAnswer, name: string): ReviewAnswer {
  try {
    return read()
  } catch (error) {
    const { message } = error as Error
    if (error instanceof UnreadableAnswer) throw new WebhookFailure(name, `failed to call webhook: ${message}`, 503, { cause: error })
    if (error instanceof UnsupportedPatchType) throw new WebhookFailure(name, message, 400, { cause: error })
    throw new WebhookFailure(name, `received invalid webhook response: ${message}`, 503, { cause: error })
  }
}

/** Whatever the webhook calls it, a rejection is a failure. */
function denial(webhook: string, status: V1Status | undefined): StatusError {
  const { message, reason, code = 0 } = status ?? {}
  const deniedBy = `admission webhook ${quoted(webhook)} denied the request`
  const why = message || reason
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    ...status,
    metadata: status?.metadata ?? {},
    status: !status?.status || status.status === 'Success' ? 'Failure' : status.status,
    message: why ? `${deniedBy}: ${why}` : `${deniedBy} without explanation`,
    code: Math.max(code, 400),
  })
}
