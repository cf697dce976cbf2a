/** Moving from client-side apply to server-side apply: the annotation in which kubectl keeps what it applied last. */
import { deepCopy } from '#api/meta/deep-copy.ts'
import { isObject, type JsonObject } from '#api/meta/patch/json-value.ts'
import { compareObjects } from './compare.ts'
import { differenceOf, type FieldSet } from './field-set.ts'
import { fieldSetOf } from './field-set-of.ts'
import type { MergeType } from './merge-type.ts'
import { goJson } from './path-element.ts'
import { typeErrors } from './type-check.ts'

const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'
const maxAnnotationBytes = 256 * 1024

/** The manager in whose name kubectl applies. Others who do not want the annotation looked at use another name. */
export const kubectl = 'kubectl'

/** The fields that client-side apply set and nobody changed since: kubectl may take them without a conflict. */
export function fieldsOfLastApplied(live: JsonObject, apiVersion: string, type: MergeType): FieldSet | undefined {
  const text = annotationsOf(live)?.[lastAppliedAnnotation]
  if (typeof text !== 'string' || text === '') return undefined
  const last = parsed(text)
  if (last === undefined || last['apiVersion'] !== apiVersion) return undefined
  if (typeErrors(last, type) !== undefined || typeErrors(live, type) !== undefined) return undefined
  const { modified, added, removed } = compareObjects(last, live, type)
  return [modified, added, removed].reduce(differenceOf, fieldSetOf(last, type))
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Keeps the annotation, where there is one, in step with what is applied now. Changes `object`. */
export function refreshLastApplied(object: JsonObject, config: JsonObject): void {
  const annotations = annotationsOf(object)
  const last = annotations?.[lastAppliedAnnotation]
  if (annotations === undefined || typeof last !== 'string' || last === '') return
  const copy = deepCopy(config)
  const own = annotationsOf(copy)
  if (own !== undefined) delete own[lastAppliedAnnotation]
  annotations[lastAppliedAnnotation] = `${goJson(copy)}\n`
  let size = 0
  for (const [key, value] of Object.entries(annotations)) size += Buffer.byteLength(key) + Buffer.byteLength(String(value))
  if (size > maxAnnotationBytes) delete annotations[lastAppliedAnnotation]
}

function annotationsOf(object: JsonObject): JsonObject | undefined {
  const { metadata } = object
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined
  return isObject(annotations) ? annotations : undefined
}
