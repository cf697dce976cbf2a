/** Objects, lists and events as the bytes of an answer, in the form the client negotiated. */

import { canonicalize, encodeCanonicalJson } from '#api/codec/json.ts'
import { jsonText } from '#api/codec/json-text.ts'
import { encodeProtobuf, encodeProtobufEvent } from '#api/codec/protobuf.ts'
import { encodeYaml, encodingYaml } from '#api/codec/yaml.ts'
import { notAcceptable, notAcceptableForm } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { protobufPieces, storedListPieces, textListPieces, yamlListPieces } from '#apiserver/http/encode-list.ts'
import type { ListPage } from '#apiserver/http/list-page.ts'
import { acceptedMedia, contentTypes, type Form } from '#apiserver/http/negotiation.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { sharedValue } from '#apiserver/http/shared-value.ts'
import { columnDefinitions, type IncludeObject, partialMetadata, tableRow } from '#apiserver/http/table.ts'
import type { EventEncoder } from '#apiserver/http/watch-stream.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import { defined } from '#base/defined.ts'
import type { Steps } from '#base/steps.ts'

/** What a table needs beside the objects. */
export type TableOptions = { nowMs: number; include: IncludeObject }

/** One object of the API that is no stored object: a Status, a Table, a review, … */
export function encodeValue(value: KubernetesObject, form: Form, schema: string | undefined): Uint8Array {
  if (form.media === 'protobuf' && schema !== undefined) return encodeProtobuf(value, schema)
  if (form.media === 'yaml') return encodeYaml(value)
  return jsonBytes(value, form)
}

function jsonBytes(value: unknown, form: Form): Uint8Array {
  return Buffer.from(jsonText(value, form.isPretty ? 2 : undefined))
}

export function contentTypeOf(form: Form): string {
  return contentTypes[form.media]
}

/** One stored object, in steps: each takes long with a large one that has to be converted. */
export function* encodingObject(resource: ServedResource, cached: CachedObject, form: Form, table: TableOptions): Steps<Uint8Array> {
  switch (form.as) {
    case 'Table': {
      const whole = tableOf(resource, cached, form, table)
      yield
      return form.media === 'yaml' ? yield* encodingYaml(whole) : encodeValue(whole, form, undefined)
    }
    case 'PartialObjectMetadata':
      return encodeValue(partialMetadata(resource.definition, resource.fromStored(cached.object), form.metaVersion), form, partialSchema)
    case 'PartialObjectMetadataList':
      throw notAcceptableForm(`you requested PartialObjectMetadataList, but the requested object is not a list (*${goName(resource)})`)
  }
  const isPlain = form.media === 'json' && !form.isPretty
  if (isPlain && resource.isStoredVersion) return cached.json()
  yield
  const { object } = cached
  yield
  const shown = yield* resource.showing(object)
  yield
  if (form.media === 'yaml') return yield* encodingYaml(shown)
  if (!isPlain) return encodeValue(shown, form, resource.definition.schema)
  const canonical = canonicalize(shown, resource.definition.schema)
  yield
  return encodeCanonicalJson(canonical)
}

const partialSchema = 'io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata'
const partialListSchema = 'io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadataList'

/** The type as Go prints it, which upstream's messages do. */
function goName({ registry: { definition } }: ServedResource): string {
  return `${definition.group === '' ? 'core' : definition.group.split('.')[0]}.${definition.kind}`
}

/** A whole list, in pieces. */
export function* encodeList(resource: ServedResource, page: ListPage, form: Form, table: TableOptions): Generator<Uint8Array> {
  if (form.as === 'PartialObjectMetadata') {
    throw notAcceptableForm(`you requested PartialObjectMetadata, but the requested object is a list (*${goName(resource)}List)`)
  }
  const { items } = page
  const { media, metaVersion, isPretty } = form
  const isUntyped = resource.definition.untyped !== undefined
  const metadata = listMetadata(page, isUntyped && form.as === 'object')
  const apiVersion = form.as === 'object' ? resource.apiVersion : `meta.k8s.io/${metaVersion}`
  if (form.as === 'Table') {
    if (media === 'protobuf') throw notAcceptable(acceptedMedia)
    const head = { kind: 'Table', apiVersion, metadata, columnDefinitions: columnDefinitions(resource.definition) }
    const options = { ...table, metaVersion }
    const row = (cached: CachedObject) => {
      const stored = cached.peek()
      return tableRow(resource.definition, stored, () => resource.fromStored(stored), options)
    }
    return yield* media === 'yaml' ? yamlListPieces(head, 'rows', items, row) : textListPieces(head, 'rows', items, row, isPretty)
  }
  const isPartial = form.as === 'PartialObjectMetadataList'
  const head = { kind: isPartial ? 'PartialObjectMetadataList' : resource.listKind, apiVersion, metadata }
  if (media === 'json' && !isPartial && !isPretty && resource.isStoredVersion) return yield* storedListPieces(head, items, isUntyped)
  const shown = isPartial
    ? (cached: CachedObject) => partialMetadata(resource.definition, resource.fromStored(cached.peek()), metaVersion)
    : (cached: CachedObject) => (isUntyped ? cached.peek() : withoutType(resource.fromStored(cached.peek())))
  const itemSchema = isPartial ? partialSchema : resource.definition.schema
  if (media === 'protobuf') yield* protobufPieces(head, isPartial ? partialListSchema : `${itemSchema}List`, items, itemSchema, shown)
  else if (media === 'json') yield* textListPieces(head, 'items', items, shown, isPretty)
  else yield* yamlListPieces(head, 'items', items, shown)
}

/** Lists of custom resources tell of the next page even where there is none. */
function listMetadata({ resourceVersion, continueToken, remainingItemCount }: ListPage, isUntyped: boolean): object {
  return {
    resourceVersion,
    ...defined({ continue: continueToken === '' && !isUntyped ? undefined : continueToken, remainingItemCount }),
  }
}

/** Items of a list leave kind and apiVersion out. */
function withoutType({ kind: _kind, apiVersion: _version, ...rest }: KubernetesObject): object {
  return rest
}

/** Of one object. */
function tableOf(resource: ServedResource, { object, revision }: CachedObject, form: Form, options: TableOptions): KubernetesObject {
  if (form.media === 'protobuf') throw notAcceptable(acceptedMedia)
  const { metaVersion } = form
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${metaVersion}`,
    metadata: { resourceVersion: String(revision) },
    columnDefinitions: columnDefinitions(resource.definition),
    rows: [tableRow(resource.definition, object, () => resource.fromStored(object), { ...options, metaVersion })],
  } as KubernetesObject
}

/** Events as lines of JSON, or as protobuf frames. */
export function eventEncoder(resource: ServedResource, form: Form, table: () => TableOptions): EventEncoder {
  let isFirstTable = true
  const object = (cached: CachedObject): KubernetesObject => {
    const shown = resource.fromStored(cached.object)
    if (form.as === 'PartialObjectMetadata' || form.as === 'PartialObjectMetadataList')
      return partialMetadata(resource.definition, shown, form.metaVersion)
    if (form.as !== 'Table') return shown
    const columns = isFirstTable ? columnDefinitions(resource.definition) : null
    isFirstTable = false
    const row = tableRow(resource.definition, cached.object, () => shown, { ...table(), metaVersion: form.metaVersion })
    return {
      kind: 'Table',
      apiVersion: `meta.k8s.io/${form.metaVersion}`,
      metadata: { resourceVersion: String(cached.revision) },
      columnDefinitions: columns,
      rows: [row],
    } as KubernetesObject
  }
  const schema = form.as === 'object' ? resource.definition.schema : partialSchema
  const encode = (type: string, value: KubernetesObject, schemaName: string): Uint8Array =>
    form.media === 'protobuf'
      ? encodeProtobufEvent(type, value, schemaName)
      : Buffer.from(`{"type":"${type}","object":${jsonText(value)}}\n`)
  return {
    // The first table of a stream carries the columns, so its bytes are one client's own.
    key:
      form.as === 'Table'
        ? `table ${tableCount++}`
        : `${form.media} ${form.as} ${form.metaVersion} ${resource.apiVersion} ${resource.definition.plural}`,
    event(type, cached) {
      if (form.media === 'json' && form.as === 'object' && resource.isStoredVersion) return jsonEvent(type, cached)
      return encode(type, object(cached), schema)
    },
    share: (cached) => sharedValue(resource, cached),
    bookmark(revision, isEndOfInitialEvents) {
      const metadata = {
        resourceVersion: String(revision),
        ...defined({ annotations: isEndOfInitialEvents ? { 'k8s.io/initial-events-end': 'true' } : undefined }),
      }
      if (form.as === 'object') {
        const shown = { kind: resource.definition.kind, apiVersion: resource.apiVersion, metadata }
        const { definition } = resource
        return encode('BOOKMARK', definition.untyped ? shown : canonicalize(shown as KubernetesObject, definition.schema), schema)
      }
      return encode('BOOKMARK', { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${form.metaVersion}`, metadata }, schema)
    },
    error: (status) => encode('ERROR', status as KubernetesObject, 'io.k8s.apimachinery.pkg.apis.meta.v1.Status'),
  }
}

let tableCount = 0

/** Events of this size are worth looking for. */
const sharedFromBytes = 8 * 1024
const sharedEvents = new WeakMap<CachedObject, { type: string; bytes: WeakRef<Uint8Array> }>()

/** Large events are the same bytes for all who still have to be sent them: a thousand clients that do not read keep them once. */
function jsonEvent(type: string, cached: CachedObject): Uint8Array {
  if (cached.value.byteLength < sharedFromBytes) return jsonLine(type, cached)
  const known = sharedEvents.get(cached)
  const shared = known?.type === type ? known.bytes.deref() : undefined
  if (shared !== undefined) return shared
  const bytes = jsonLine(type, cached)
  sharedEvents.set(cached, { type, bytes: new WeakRef(bytes) })
  return bytes
}

const jsonLine = (type: string, cached: CachedObject): Uint8Array => cached.json(`{"type":"${type}","object":`, '}\n')
