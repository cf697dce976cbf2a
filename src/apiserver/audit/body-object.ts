/** Bodies of requests and answers, whatever their media type, as JSON can hold them. */
import { readProtobuf } from '#api/codec/protobuf.ts'
import { readYaml } from '#api/codec/yaml.ts'
import { parseApiVersion } from '#api/meta/gvk.ts'
import { schemaNameOf } from '#api/schema/schema.ts'

/** Undefined for what is none: logs, malformed bodies. */
export function bodyObject(body: Uint8Array, contentType: string): Record<string, unknown> | undefined {
  try {
    const value = parsed(body, contentType.split(';')[0]?.trim() ?? '')
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function parsed(body: Uint8Array, mediaType: string): unknown {
  if (mediaType === 'application/vnd.kubernetes.protobuf') return fromProtobuf(body)
  if (mediaType.endsWith('yaml')) return readYaml(body).value
  if (mediaType === '' || mediaType.endsWith('json'))
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8'))
  return undefined
}

function fromProtobuf(body: Uint8Array): unknown {
  const document = readProtobuf(body)
  const { kind, apiVersion } = document.typeMeta
  const { group = '', version = '' } = parseApiVersion(apiVersion) ?? {}
  const schema = schemaNameOf({ group, version, kind })
  return schema === undefined ? undefined : { kind, apiVersion, ...document.decode<object>(schema) }
}

/** A copy of an object, list or table without any managedFields. */
export function withoutManagedFields(object: Record<string, unknown>): Record<string, unknown> {
  const copy = withoutOwn(object)
  if (Array.isArray(copy['items'])) copy['items'] = copy['items'].map((item) => withoutOwn(item as Record<string, unknown>))
  if (Array.isArray(copy['rows'])) {
    copy['rows'] = copy['rows'].map((row: Record<string, unknown>) =>
      row['object'] ? { ...row, object: withoutOwn(row['object'] as Record<string, unknown>) } : row,
    )
  }
  return copy
}

function withoutOwn(object: Record<string, unknown>): Record<string, unknown> {
  const { metadata } = object
  if (metadata === null || typeof metadata !== 'object') return { ...object }
  const { managedFields: _, ...rest } = metadata as Record<string, unknown>
  return { ...object, metadata: rest }
}
