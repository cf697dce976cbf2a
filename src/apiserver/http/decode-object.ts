/** Bodies as objects of a kind, whatever their media type, refused in upstream's words. */

import { DecodeError } from '#api/codec/decode-error.ts'
import { type Decoded, decodeValue, decodingValue, type JsonDocument, readingJson, readJson } from '#api/codec/json.ts'
import { readProtobuf } from '#api/codec/protobuf.ts'
import type { ListLimit } from '#api/codec/protobuf-decode.ts'
import { typeMetaOf } from '#api/codec/type-meta.ts'
import { readYaml, YamlDocument } from '#api/codec/yaml.ts'
import type { UntypedKind } from '#api/custom-kinds/untyped-kind.ts'
import type { Shaped } from '#api/kind.ts'
import { quoted } from '#api/meta/check.ts'
import { apiVersionOf, parseApiVersion } from '#api/meta/gvk.ts'
import { badRequest, invalid, unsupportedMediaType } from '#api/meta/status-error.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { schemaNameOf } from '#api/schema/schema.ts'
import { type Media, untypedMedia } from '#apiserver/http/negotiation.ts'
import { defined } from '#base/defined.ts'
import { atOnce, type Steps } from '#base/steps.ts'

export type DecodedObject<T extends KubernetesObject = KubernetesObject> = { object: T; apiVersion: string; strictErrors: string[] }

/** What decoding must know of a kind. */
export type DecodeTarget<T extends KubernetesObject = KubernetesObject> = Pick<
  ResourceDefinition,
  'group' | 'version' | 'kind' | 'schema' | 'untyped'
> &
  Shaped<T>

/** Decodes an object that says, or leaves out, that it is of this kind. Throws 400. */
export function decodeObject<T extends KubernetesObject>(body: Uint8Array, media: Media, target: DecodeTarget<T>): DecodedObject<T> {
  return atOnce(decodingObject(body, media, target))
}

/** As `decodeObject`, in steps: to parse a large text takes as long as to make an object of it. */
export function* decodingObject<T extends KubernetesObject>(
  body: Uint8Array,
  media: Media,
  target: DecodeTarget<T>,
  limit?: ListLimit,
): Steps<DecodedObject<T>> {
  // What is decoded by the schema of a kind has the kind's type.
  return (yield* decodedBody(body, media, target, limit)) as DecodedObject<T>
}

function* decodedBody(body: Uint8Array, media: Media, target: DecodeTarget, limit: ListLimit | undefined): Steps<DecodedObject> {
  if (target.untyped !== undefined) {
    yield* target.untyped.schema.readying()
    return yield* decodingUntyped(body, media, target, target.untyped)
  }
  if (media === 'protobuf') return decodeProtobufObject(body, target, limit)
  const document = yield* parsing(body, media, target)
  const { apiVersion, kind } = typeOf(document.value, body, target)
  if (kind !== target.kind || !isSameGroup(apiVersion, target)) throw wrongKind(apiVersion, kind, target)
  yield
  const decoded = yield* decodingAs(document, apiVersion, target)
  return { object: withType(decoded.object, apiVersion, kind), apiVersion, strictErrors: decoded.strictErrors }
}

function decodeProtobufObject(body: Uint8Array, target: DecodeTarget, limit: ListLimit | undefined): DecodedObject {
  try {
    const document = readProtobuf(body, limit)
    const apiVersion = document.typeMeta.apiVersion || apiVersionOf(target)
    const kind = document.typeMeta.kind || target.kind
    if (kind !== target.kind || !isSameGroup(apiVersion, target)) throw wrongKind(apiVersion, kind, target)
    return { object: withType(document.decode<KubernetesObject>(target.schema, limit), apiVersion, kind), apiVersion, strictErrors: [] }
  } catch (error) {
    throw error instanceof DecodeError ? unrecognized(target, error.message, body) : error
  }
}

function* parsing(body: Uint8Array, media: Media, target: DecodeTarget): Steps<JsonDocument | YamlDocument> {
  try {
    return media === 'yaml' ? readYaml(body) : yield* readingJson(body)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw unrecognized(target, media === 'yaml' ? error.message : `couldn't get version/kind; json parse error: ${error.message}`, body)
  }
}

/** Kind and version as upstream finds them out before anything else; what is left out is taken from the endpoint. */
function typeOf(value: unknown, body: Uint8Array, target: DecodeTarget): { apiVersion: string; kind: string } {
  try {
    const { apiVersion, kind } = typeMetaOf(value)
    return { apiVersion: apiVersion || apiVersionOf(target), kind: kind || target.kind }
  } catch (error) {
    throw error instanceof DecodeError ? unrecognized(target, error.message, body) : error
  }
}

function isSameGroup(apiVersion: string, { group }: DecodeTarget): boolean {
  return (apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '') === group
}

/** Upstream tells kinds it never heard of from kinds that are something else. */
function wrongKind(apiVersion: string, kind: string, target: DecodeTarget): Error {
  const { group, version } = parseApiVersion(apiVersion) ?? { group: '', version: apiVersion }
  const why =
    kind !== 'List' && schemaNameOf({ group, version, kind }) === undefined
      ? `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme ${scheme(target)}`
      : `converting (${version}.${kind}) to (${goPackage(target)}.${target.kind}): unknown conversion`
  return badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${target.kind}: ${why}`)
}

/** The servers upstream chains have a scheme each, known by where it is made. */
function scheme({ group }: DecodeTarget): string {
  if (group === 'apiextensions.k8s.io') return '"k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:58"'
  if (group === 'apiregistration.k8s.io') return '"k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:31"'
  return '"pkg/api/legacyscheme/scheme.go:30"'
}

function goPackage({ group }: DecodeTarget): string {
  return group === '' ? 'core' : (group.split('.')[0] ?? '')
}

function* decodingAs(document: JsonDocument | YamlDocument, apiVersion: string, target: DecodeTarget): Steps<Decoded<KubernetesObject>> {
  try {
    return yield* document.decoding<KubernetesObject>(target.schema)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
    throw badRequest(`${target.kind} in version ${JSON.stringify(version)} cannot be handled as a ${target.kind}: ${error.message}`)
  }
}

/** Objects whose type is told at run time. What they are they have to say themselves. */
function* decodingUntyped(body: Uint8Array, media: Media, target: DecodeTarget, untyped: UntypedKind): Steps<DecodedObject> {
  if (media === 'protobuf') throw unsupportedMediaType(untypedMedia)
  const document = yield* parsing(body, media, target)
  const object = (document instanceof YamlDocument ? document.value : document.exactValue()) as KubernetesObject
  const { apiVersion, kind } = untypedTypeOf(object, body, target)
  const duplicates =
    document instanceof YamlDocument ? (document.duplicateError === undefined ? [] : [document.duplicateError]) : document.duplicateFields()
  if (kind !== target.kind) throw notOfKind(object, target)
  try {
    const version = apiVersion === apiVersionOf(target) ? untyped : untyped.version(apiVersion)?.untyped
    const dropped = version?.coerce(object) ?? Object.keys(object).filter((name) => !metaFields.has(name))
    return { object, apiVersion, strictErrors: [...duplicates, ...unknownFields(dropped)] }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
    throw badRequest(`${target.kind} in version ${JSON.stringify(version)} cannot be handled as a ${target.kind}: ${error.message}`)
  }
}

const metaFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

function notOfKind({ kind = '', metadata }: KubernetesObject, target: DecodeTarget): Error {
  const error = { type: 'FieldValueInvalid' as const, field: 'kind', body: `Invalid value: ${quoted(kind)}: must be ${target.kind}` }
  return invalid({ group: target.group, kind }, metadata?.name ?? '', [error])
}

const unknownFields = (paths: readonly string[]): string[] => paths.map((path) => `unknown field "${path}"`)

function untypedTypeOf(value: unknown, body: Uint8Array, target: DecodeTarget): { apiVersion: string; kind: string } {
  const fields = typeof value === 'object' && value !== null ? (value as KubernetesObject) : {}
  const given = {
    ...defined({ apiVersion: fields.apiVersion, kind: fields.kind }),
  }
  const said = typeOf(given, body, { ...target, group: '', version: '' })
  if (fields.kind === undefined || said.kind === '')
    throw unrecognized(target, `Object 'Kind' is missing in '${Buffer.from(body).toString()}'`, body)
  return said
}

function unrecognized({ kind }: DecodeTarget, why: string, body: Uint8Array): Error {
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${summary(body)})`)
}

const summaryBytes = 30

function summary(body: Uint8Array): string {
  if (body.length === 0) return '<empty>'
  const head = Buffer.from(body.subarray(0, summaryBytes))
  const text = body[0] === 0x7b ? head.toString('utf8') : head.toString('hex')
  return body.length > summaryBytes ? `${text} ...` : text
}

function withType<T extends KubernetesObject>(object: T, apiVersion: string, kind: string): T {
  object.kind = kind
  object.apiVersion = apiVersion
  return object
}

/** A value of a type that is no kind of its own: DeleteOptions. */
export function decodeOptions<T extends object>(body: Uint8Array, media: Media, schema: string, beforeSyntaxError = ''): T {
  if (media === 'json' && beforeSyntaxError !== '') requireSyntax(body, beforeSyntaxError)
  try {
    if (media === 'protobuf') return readProtobuf(body).decode<T>(schema)
    return (media === 'yaml' ? readYaml(body) : readJson(body)).decode<T>(schema).object
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(error.message) : error
  }
}

function requireSyntax(body: Uint8Array, before: string): void {
  try {
    readJson(body)
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(before + error.message) : error
  }
}

/** What a patch made of an object; `error` where it is none any more. */
export function decodePatched<T extends KubernetesObject>(
  value: Record<string, unknown>,
  target: DecodeTarget<T>,
): DecodedObject<T> | { error: string } {
  return atOnce(decodingPatched(value, target))
}

/** As `decodePatched`, in steps. */
export function* decodingPatched<T extends KubernetesObject>(
  value: Record<string, unknown>,
  target: DecodeTarget<T>,
): Steps<DecodedObject<T> | { error: string }> {
  try {
    if (target.untyped !== undefined) {
      const object = value as T
      return { object, apiVersion: object.apiVersion ?? '', strictErrors: unknownFields(target.untyped.coerce(object)) }
    }
    const { object, strictErrors } = yield* decodingValue<T>(value, target.schema)
    return { object: withType(object, apiVersionOf(target), target.kind), apiVersion: apiVersionOf(target), strictErrors }
  } catch (error) {
    if (error instanceof DecodeError) return { error: error.message }
    throw error
  }
}

/** An object from within this process, which is taken over; undefined where something about it is to be said, which the way over its bytes does. */
export function decodePlainValue<T extends KubernetesObject>(value: object, target: DecodeTarget<T>): T | undefined {
  const { apiVersion = '', kind = '' } = value as KubernetesObject
  if (apiVersion !== apiVersionOf(target) || kind !== target.kind) return undefined
  try {
    const { object, strictErrors } = decodeValue<T>(value, target.schema)
    return strictErrors.length === 0 ? withType(object, apiVersion, kind) : undefined
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

/** A patch's own JSON, with the keys it holds twice. */
export function* parsingPatchBody(body: Uint8Array): Steps<{ value: unknown; duplicates(): string[] }> {
  const document = yield* readingJson(body)
  yield
  return { value: document.exactValue(), duplicates: () => document.duplicateFields() }
}
