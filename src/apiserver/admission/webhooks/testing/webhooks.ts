/** Webhooks that answer as a test tells them to, and what they were asked. */
import type { V1AdmissionRequest } from '#api/admission/v1/types.gen.ts'
import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { type TestContext, testContext } from '#apiserver/admission/testing/admission.ts'
import { mutatingAdmissionWebhook } from '#apiserver/admission/webhooks/mutating-admission-webhook.ts'
import { validatingAdmissionWebhook } from '#apiserver/admission/webhooks/validating-admission-webhook.ts'
import type { WebhookCall, WebhookClientConfig } from '#apiserver/webhooks/webhook-calls.ts'
import { Metrics } from '#base/metrics.ts'

export type Asked = V1AdmissionRequest & {
  readonly uid: string
  readonly at: string
  readonly call: WebhookCall
  readonly apiVersion: string
}
/** What the webhook sends back: a text as it is, anything else as the response of a review. */
export type Answering = (asked: Asked) => object | string | Promise<object | string>

export const podRule = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }

export function aWebhook(name: string, more: object = {}) {
  return {
    name,
    clientConfig: { url: `https://${name}/` },
    rules: [podRule],
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    sideEffects: 'None',
    timeoutSeconds: 10,
    admissionReviewVersions: ['v1'],
    ...more,
  }
}

export function aConfiguration(name: string, ...webhooks: object[]) {
  return { metadata: { name }, webhooks }
}

export type WebhookBench = {
  readonly context: TestContext
  readonly metrics: Metrics
  readonly mutating: AdmissionPlugin
  readonly validating: AdmissionPlugin
  readonly asked: Asked[]
}

/** Both plugins over the same configurations; webhooks answer by their host's name, and allow where nothing is said. */
export function webhookBench(
  configurations: { mutating?: object[]; validating?: object[]; namespaces?: object[] },
  answers: Record<string, Answering> = {},
): WebhookBench {
  const asked: Asked[] = []
  const metrics = new Metrics()
  const given = testContext({
    'mutatingwebhookconfigurations.admissionregistration.k8s.io': configurations.mutating ?? [],
    'validatingwebhookconfigurations.admissionregistration.k8s.io': configurations.validating ?? [],
    namespaces: configurations.namespaces ?? [{ metadata: { name: 'ns' } }],
  })
  const post = async ({ url = '' }: WebhookClientConfig, call: WebhookCall) => {
    const at = new URL(url).hostname
    const { apiVersion, request } = JSON.parse(call.body) as { apiVersion: string; request: V1AdmissionRequest }
    const question = { ...request, uid: request.uid ?? '', at, call, apiVersion }
    asked.push(question)
    const answer = (await answers[at]?.(question)) ?? { allowed: true }
    if (typeof answer === 'string') return answer
    return JSON.stringify({ kind: 'AdmissionReview', apiVersion, response: { uid: request.uid, ...answer } })
  }
  const context = { ...given, metrics, webhooks: { post } }
  return { context, metrics, asked, mutating: mutatingAdmissionWebhook(context), validating: validatingAdmissionWebhook(context) }
}

export const patching = (...operations: object[]) => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
})
