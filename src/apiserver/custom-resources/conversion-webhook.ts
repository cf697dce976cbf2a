/** Asks a definition's webhook for objects in another version: one call, however many objects. */

import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { jsonText } from '#api/codec/json-text.ts'
import { parseJson } from '#api/codec/parse-json.ts'
import type { ConvertObjects } from '#api/custom-kinds/untyped-kind.ts'
import { aggregateMessages, fieldErrorText } from '#api/meta/aggregate.ts'
import { Check, quoted } from '#api/meta/check.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { apiVersionOf, gvkOf, gvkText } from '#api/meta/gvk.ts'
import { validateAnnotations, validateLabels } from '#api/meta/labels.ts'
import { goTypeOf } from '#api/meta/patch/go-print.ts'
import { unknownFailure } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { isFields } from '#api/structural/shape.ts'
import type { WebhookCalls } from '#apiserver/webhooks/webhook-calls.ts'
import type { Random } from '#base/random.ts'

export type ConversionSeams = { webhooks: Pick<WebhookCalls, 'post'>; random: Random }

const timeoutMs = 30_000
const answerLimitBytes = 256 << 20
const reviewVersions = ['v1', 'v1beta1']

type Review = {
  kind?: string
  apiVersion?: string
  response?: { uid?: string; convertedObjects?: unknown[]; result?: { status?: string; message?: string } }
}

/** Undefined where versions differ in their name alone. */
export function conversionOf({ spec }: V1CustomResourceDefinition, { webhooks, random }: ConversionSeams): ConvertObjects | undefined {
  const { strategy, webhook } = spec.conversion ?? {}
  const clientConfig = webhook?.clientConfig
  if (strategy !== 'Webhook' || clientConfig == null) return undefined
  const version = webhook?.conversionReviewVersions?.find((each) => reviewVersions.includes(each)) ?? 'v1'
  return async (objects, to) => {
    const [first] = objects
    if (first === undefined) return []
    const subject = gvkText(gvkOf(first))
    const desired = apiVersionOf(to)
    const uid = random.uuid()
    const apiVersion = `apiextensions.k8s.io/${version}`
    const body = jsonText({ kind: 'ConversionReview', apiVersion, request: { uid, desiredAPIVersion: desired, objects } })
    const fail = (why: string) => unknownFailure(`conversion webhook for ${subject} ${why}`)
    const answer = await webhooks
      .post(clientConfig, { body, timeoutMs, answerLimitBytes, query: 'timeout=30s' })
      .catch((error: unknown) => {
        throw fail(`failed: ${(error as Error).message}`)
      })
    const found = convertedObjects(answer, version === 'v1' ? uid : undefined, apiVersion)
    if (typeof found === 'string') throw fail(`failed: ${found}`)
    if (found.length !== objects.length) throw fail(`returned ${found.length} objects, expected ${objects.length}`)
    return objects.map((object, index) => {
      const converted = found[index]
      const trouble = troubleWith(converted, object, desired)
      if (trouble !== undefined) throw fail(`returned invalid converted object at index ${index}: ${trouble}`)
      const restored = withMetadataOf(object, converted as KubernetesObject)
      if (typeof restored === 'string') throw fail(`returned invalid metadata in object at index ${index}: ${restored}`)
      return restored
    })
  }
}

/** What came back, or why that is no answer. Of old reviews nobody looks at whose answer it is. */
function convertedObjects(answer: string, uid: string | undefined, apiVersion: string): unknown[] | string {
  let review: Review
  try {
    const said: unknown = parseJson(answer)
    review = isFields(said) ? said : {}
  } catch (error) {
    return (error as Error).message
  }
  if (uid !== undefined && (review.kind !== 'ConversionReview' || review.apiVersion !== apiVersion)) {
    return `expected webhook response of ${gvkText(gvkOf({ apiVersion, kind: 'ConversionReview' }))}, got ${gvkText(gvkOf(review))}`
  }
  const { response } = review
  if (response == null) return 'no response provided'
  if (uid !== undefined && response.uid !== uid) return `expected response.uid=${quoted(uid)}, got ${quoted(response.uid ?? '')}`
  if (response.result?.status !== 'Success') {
    return response.result?.message || `response.result.status was '${response.result?.status ?? ''}', not 'Success'`
  }
  const { convertedObjects: objects = [] } = response
  return Array.isArray(objects) ? objects : `response.convertedObjects is no list but ${goTypeOf(objects)}`
}

function troubleWith(converted: unknown, { kind, metadata = {} }: KubernetesObject, apiVersion: string): string | undefined {
  if (!isFields(converted)) return `invalid type, expected=Unstructured, got=${goTypeOf(converted)}`
  const { metadata: given = {}, ...type } = converted as KubernetesObject
  if (type.apiVersion !== apiVersion) return `invalid groupVersion (expected ${apiVersion}, received ${type.apiVersion ?? ''})`
  if (type.kind !== kind) return `invalid kind (expected ${kind}, received ${type.kind ?? ''})`
  for (const [name, expected, got] of [
    ['name', metadata.name, given?.name],
    ['namespace', metadata.namespace, given?.namespace],
    ['UID', metadata.uid, given?.uid],
  ] as const) {
    if ((expected ?? '') !== (got ?? '')) return `must have the same ${name}: ${expected ?? ''} != ${got ?? ''}`
  }
  return undefined
}

/** A conversion may change labels and annotations, and no other metadata. A text says what is wrong with those. */
function withMetadataOf(original: KubernetesObject, converted: KubernetesObject): KubernetesObject | string {
  const given: unknown = converted.metadata
  if (given === undefined) return 'missing metadata in converted object'
  if (!isFields(given)) return `invalid metadata of type ${goTypeOf(given)} in converted object`
  const metadata = deepCopy(original.metadata ?? {})
  for (const field of ['labels', 'annotations'] as const) {
    const texts = given[field]
    delete metadata[field]
    if (texts == null) continue
    if (!isFields(texts)) return `invalid metadata.${field} of type ${goTypeOf(texts)} in converted object`
    for (const [key, value] of Object.entries(texts)) {
      if (typeof value !== 'string') return `metadata.${field}[${key}] must be a string, but is ${goTypeOf(value)} in converted object`
    }
    const check = new Check(texts as Record<string, string>, `metadata.${field === 'labels' ? 'labels' : 'annotation'}`)
    if (field === 'labels') validateLabels(check)
    else validateAnnotations(check)
    if (check.failed) return aggregateMessages(check.errors.map(fieldErrorText))
    metadata[field] = texts as Record<string, string>
  }
  return { ...converted, metadata }
}
