import type { KubernetesObject } from '#api/resource.ts'

/**
 * One state of one object: the bytes that were stored and, once somebody asks, the parsed object.
 *
 * Stored bytes have no resourceVersion, since the store chooses it; they always begin with kind, apiVersion and metadata,
 * so that serving them is a matter of putting the revision in at a fixed place.
 */
export class CachedObject {
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly revision: number
  /** Plain JSON, as encoded when it was written. */
  readonly value: Uint8Array
  #object: KubernetesObject | undefined

  constructor(key: string, namespace: string, name: string, revision: number, value: Uint8Array, object?: KubernetesObject) {
    this.key = key
    this.namespace = namespace
    this.name = name
    this.revision = revision
    this.value = value
    this.#object = object
  }

  /** With its resourceVersion; shared and frozen. */
  get object(): KubernetesObject {
    this.#object ??= freezeDeep(parseStored(this.value, this.revision))
    return this.#object
  }

  /** The JSON that clients get, in one piece. */
  json(): Buffer {
    return withResourceVersion(this.value, this.revision)
  }

  /** The same state under a later revision: what a deletion shows. */
  at(revision: number): CachedObject {
    return new CachedObject(this.key, this.namespace, this.name, revision, this.value)
  }
}

const metadataStart = Buffer.from('"metadata":{')

/** Where the resourceVersion belongs: right after the brace of the object's own metadata, which the encoder writes first. */
export function spliceOffset(value: Uint8Array): number {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  const found = bytes.indexOf(metadataStart)
  if (found < 0) throw new Error('a stored object has no metadata')
  return found + metadataStart.length
}

/** Revision 0 is of an object that was not stored: a dry run's. */
export function withResourceVersion(value: Uint8Array, revision: number): Buffer {
  if (revision === 0) return Buffer.from(value)
  const offset = spliceOffset(value)
  const isEmpty = value[offset] === 0x7d
  const insert = `"resourceVersion":"${revision}"${isEmpty ? '' : ','}`
  const result = Buffer.allocUnsafe(value.byteLength + insert.length)
  result.set(value.subarray(0, offset), 0)
  result.write(insert, offset, 'latin1')
  result.set(value.subarray(offset), offset + insert.length)
  return result
}

function parseStored(value: Uint8Array, revision: number): KubernetesObject {
  const object = JSON.parse(textDecoder.decode(value)) as KubernetesObject
  if (revision > 0) object.metadata = { resourceVersion: String(revision), ...object.metadata }
  return object
}

const textDecoder = new TextDecoder()

export function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const key in value) freezeDeep(value[key])
  return Object.freeze(value)
}
