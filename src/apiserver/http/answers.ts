/** Objects, lists and events as the bytes of an answer, in the form the client negotiated. */
import { canonicalize, encodeJson } from '#api/codec/json.ts'
import { encodeProtobuf, encodeProtobufEvent } from '#api/codec/protobuf.ts'
import { encodeYaml } from '#api/codec/yaml.ts'
import { notAcceptable, notAcceptableForm } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { listChunks, listHead } from '#apiserver/http/encode-list.ts'
import type { ListPage } from '#apiserver/http/list-page.ts'
import { acceptedMedia, contentTypes, type Form } from '#apiserver/http/negotiation.ts'
import type { ServedResource } from '#apiserver/http/served-resource.ts'
import { columnDefinitions, type IncludeObject, partialMetadata, tableRow } from '#apiserver/http/table.ts'
import type { EventEncoder } from '#apiserver/http/watch-stream.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'

/** What a table needs beside the objects. */
export type TableOptions = { nowMs: number; include: IncludeObject }

/** One object of the API that is no stored object: a Status, a Table, a review, … */
export function encodeValue(value: KubernetesObject, form: Form, schema: string | undefined): Uint8Array {
  if (form.media === 'protobuf' && schema !== undefined) return encodeProtobuf(value, schema)
  if (form.media === 'yaml') return encodeYaml(value)
  return jsonText(value, form)
}

function jsonText(value: unknown, form: Form): Uint8Array {
  return Buffer.from(form.isPretty ? JSON.stringify(value, undefined, 2) : JSON.stringify(value))
}

export function contentTypeOf(form: Form): string {
  return contentTypes[form.media]
}

export function encodeObject(resource: ServedResource, cached: CachedObject, form: Form, table: TableOptions): Uint8Array {
  switch (form.as) {
    case 'Table':
      return encodeTable(resource, [cached], String(cached.revision), form, table)
    case 'PartialObjectMetadata':
      return encodeValue(partialMetadata(resource.fromStored(cached.object), form.metaVersion), form, partialSchema)
    case 'PartialObjectMetadataList':
      throw notAcceptableForm(`you requested PartialObjectMetadataList, but the requested object is not a list (*${goName(resource)})`)
  }
  if (form.media === 'json' && !form.isPretty)
    return resource.isStoredVersion ? cached.json() : encodeJson(resource.fromStored(cached.object), resource.definition.schema)
  return encodeValue(resource.fromStored(cached.object), form, resource.definition.schema)
}

const partialSchema = 'io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata'
const partialListSchema = 'io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadataList'

/** The type as Go prints it, which upstream's messages do. */
function goName({ registry: { definition } }: ServedResource): string {
  return `${definition.group === '' ? 'core' : definition.group.split('.')[0]}.${definition.kind}`
}

/** A whole list; the pieces of a large one come one by one. */
export function* encodeList(resource: ServedResource, page: ListPage, form: Form, table: TableOptions): Generator<Uint8Array> {
  const { resourceVersion, continueToken, remainingItemCount } = page
  if (form.as === 'Table') {
    yield encodeTable(resource, page.items, resourceVersion, form, table, page)
    return
  }
  if (form.as === 'PartialObjectMetadata') {
    throw notAcceptableForm(`you requested PartialObjectMetadata, but the requested object is a list (*${goName(resource)}List)`)
  }
  const metadata = {
    resourceVersion,
    ...(continueToken === '' ? {} : { continue: continueToken }),
    ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
  }
  if (form.as === 'PartialObjectMetadataList') {
    const items = page.items.map((cached) => partialMetadata(resource.fromStored(cached.object), form.metaVersion))
    yield encodeValue(
      { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${form.metaVersion}`, metadata, items } as KubernetesObject,
      form,
      partialListSchema,
    )
    return
  }
  const { listKind: kind, apiVersion } = resource
  if (form.media === 'json' && !form.isPretty && resource.isStoredVersion) {
    yield* listChunks(listHead({ kind, apiVersion, resourceVersion, continueToken, remainingItemCount }), page.items)
    return
  }
  const items = page.items.map((cached) => {
    const { kind: _kind, apiVersion: _version, ...rest } = resource.fromStored(cached.object)
    return rest
  })
  yield encodeValue({ kind, apiVersion, metadata, items } as KubernetesObject, form, `${resource.definition.schema}List`)
}

function encodeTable(
  resource: ServedResource,
  items: readonly CachedObject[],
  resourceVersion: string,
  form: Form,
  options: TableOptions,
  page?: ListPage,
): Uint8Array {
  if (form.media === 'protobuf') throw notAcceptable(acceptedMedia)
  const { metaVersion } = form
  const metadata = {
    resourceVersion,
    ...(page?.continueToken ? { continue: page.continueToken } : {}),
    ...(page?.remainingItemCount === undefined ? {} : { remainingItemCount: page.remainingItemCount }),
  }
  const rows = items.map((cached) => tableRow(resource.definition, cached, resource.fromStored(cached.object), { ...options, metaVersion }))
  return encodeValue(
    {
      kind: 'Table',
      apiVersion: `meta.k8s.io/${metaVersion}`,
      metadata,
      columnDefinitions: columnDefinitions(resource.definition),
      rows,
    } as KubernetesObject,
    form,
    undefined,
  )
}

/** Events as lines of JSON, or as protobuf frames. */
export function eventEncoder(resource: ServedResource, form: Form, table: () => TableOptions): EventEncoder {
  let isFirstTable = true
  const object = (cached: CachedObject): KubernetesObject => {
    const shown = resource.fromStored(cached.object)
    if (form.as === 'PartialObjectMetadata' || form.as === 'PartialObjectMetadataList') return partialMetadata(shown, form.metaVersion)
    if (form.as !== 'Table') return shown
    const columns = isFirstTable ? columnDefinitions(resource.definition) : null
    isFirstTable = false
    const row = tableRow(resource.definition, cached, shown, { ...table(), metaVersion: form.metaVersion })
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
      : Buffer.from(`{"type":"${type}","object":${JSON.stringify(value)}}\n`)
  return {
    // The first table of a stream carries the columns, so its bytes are one client's own.
    key: form.as === 'Table' ? `table ${tableCount++}` : `${form.media} ${form.as} ${form.metaVersion} ${resource.apiVersion}`,
    event(type, cached) {
      if (form.media === 'json' && form.as === 'object' && resource.isStoredVersion) return jsonEvent(type, cached)
      return encode(type, object(cached), schema)
    },
    bookmark(revision, isEndOfInitialEvents) {
      const metadata = {
        resourceVersion: String(revision),
        ...(isEndOfInitialEvents ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
      }
      if (form.as === 'object') {
        const shown = { kind: resource.definition.kind, apiVersion: resource.apiVersion, metadata }
        return encode('BOOKMARK', canonicalize(shown as KubernetesObject, resource.definition.schema), schema)
      }
      return encode('BOOKMARK', { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${form.metaVersion}`, metadata }, schema)
    },
    error: (status) => encode('ERROR', status as KubernetesObject, 'io.k8s.apimachinery.pkg.apis.meta.v1.Status'),
  }
}

let tableCount = 0

const eventEnd = Buffer.from('}\n')

function jsonEvent(type: string, cached: CachedObject): Uint8Array {
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), cached.json(), eventEnd])
}
