/** A request's body as an object of the resource's kind, in its stored version, with defaults filled in. */

import { apiVersionOf } from '#api/meta/gvk.ts'
import { badRequest, unsupportedMediaType } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { type DecodeTarget, decodingObject } from '#apiserver/http/decode-object.ts'
import { type EntryLimits, protobufLimit, requireFewEntriesIn } from '#apiserver/http/entry-limits.ts'
import { acceptedMedia, type Media } from '#apiserver/http/negotiation.ts'
import type { WriteOptions } from '#apiserver/http/query-options.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { atOnce, type Steps } from '#base/steps.ts'

const mediaOfContent: Readonly<Record<string, Media>> = {
  '': 'json',
  'application/json': 'json',
  'application/yaml': 'yaml',
  'application/vnd.kubernetes.protobuf': 'protobuf',
}

export function contentMedia(contentType: string | undefined): Media {
  const type = (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  const media = mediaOfContent[type]
  if (media === undefined) throw unsupportedMediaType(acceptedMedia)
  return media
}

export type BodyOptions = {
  contentType: string | undefined
  fieldValidation: WriteOptions['fieldValidation']
  /** Absent: of any size. */
  entryLimits?: EntryLimits
  warn(text: string): void
}

/** Decodes an object of one kind; unknown and doubled fields are errors, warnings or nothing, as the client asked. */
export function decodeBody<T extends KubernetesObject>(body: Uint8Array, definition: DecodeTarget<T>, options: BodyOptions): T {
  return atOnce(decodingBody(body, definition, options))
}

/** As `decodeBody`, in steps. */
export function* decodingBody<T extends KubernetesObject>(
  body: Uint8Array,
  definition: DecodeTarget<T>,
  { contentType, fieldValidation, entryLimits, warn }: BodyOptions,
): Steps<T> {
  const media = contentMedia(contentType)
  const limit = entryLimits && protobufLimit(entryLimits)
  const decoded = yield* decodingObject(body, media, definition, limit)
  yield
  if (media !== 'json' && entryLimits !== undefined) requireFewEntriesIn(decoded.object, entryLimits)
  if (decoded.strictErrors.length > 0) {
    if (fieldValidation === 'Warn') for (const each of decoded.strictErrors.flatMap(oneByOne)) warn(each)
    if (fieldValidation === 'Strict') {
      const { kind, version } = definition
      throw badRequest(
        `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: strict decoding error: ${decoded.strictErrors.join(', ')}`,
      )
    }
  }
  const expected = apiVersionOf(definition)
  if (decoded.apiVersion !== expected) {
    throw badRequest(`the API version in the data (${decoded.apiVersion}) does not match the expected API version (${expected})`)
  }
  return decoded.object
}

/** All keys that YAML has twice are one error, and a warning each. */
function oneByOne(error: string): string[] {
  const [head, ...lines] = error.split('\n')
  return head === 'yaml: unmarshal errors:' ? lines.map((line) => line.trim()) : [error]
}

/** Fills in defaults in the served version, converts, and fills in what the stored version adds. */
export function* storingWithDefaults(resource: ServedResource, object: KubernetesObject): Steps<KubernetesObject> {
  resource.definition.defaults?.(object)
  if (resource.isStoredVersion) return object
  yield
  const stored = yield* resource.storing(object)
  yield
  resource.registry.definition.defaults?.(stored)
  return stored
}
