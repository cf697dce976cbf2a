import { parseJson } from '#api/codec/parse-json.ts'
import type { KubernetesObject } from '#api/resource.ts'

/**
 * One state of one object: the bytes that were stored and, once somebody asks, the parsed object.
 *
 * Stored bytes have no resourceVersion, since the store chooses it; they always begin with kind, apiVersion and metadata,
 * so that serving them is a matter of putting the revision in at a fixed place.
 *
 * The parsed object is held weakly: it lives as long as somebody uses it, and a hundred thousand pods do not lie in memory twice.
 * Labels and selectable fields, which lists and watches ask again and again, stay.
 */
export class CachedObject<T extends KubernetesObject = KubernetesObject> {
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly revision: number
  /** As it lies in the store, where this is another view of it. */
  readonly stored: CachedObject
  #value: Uint8Array | (() => Uint8Array)
  #object: WeakRef<KubernetesObject> | undefined
  #labels: Readonly<Record<string, string>> | undefined
  #fields: Map<string, string> | undefined
  #metadataOffset = 0

  /** `parsed` is what `value` says, if that is at hand; it is given away. */
  constructor(
    key: string,
    namespace: string,
    name: string,
    revision: number,
    value: Uint8Array | (() => Uint8Array),
    parsed?: KubernetesObject,
    stored?: CachedObject,
  ) {
    this.key = key
    this.namespace = namespace
    this.name = name
    this.revision = revision
    this.#value = value
    this.stored = stored ?? this
    const object = parsed ?? (typeof value === 'function' ? undefined : takeParsed(value))
    if (object !== undefined) this.#keep(object)
  }

  /** Plain JSON, as encoded when it was written, or as this view of it shows it. */
  get value(): Uint8Array {
    if (typeof this.#value === 'function') this.#value = this.#value()
    return this.#value
  }

  /** With its resourceVersion; shared: nobody may change it. */
  get object(): T {
    return (this.#object?.deref() ?? this.#keep(parseJson(textDecoder.decode(this.value)) as KubernetesObject)) as T
  }

  /** As `object`, for those who look at very many once: what has to be parsed for it is not kept. */
  peek(): T {
    const known = this.#object?.deref()
    if (known !== undefined) return known as T
    const object = parseJson(textDecoder.decode(this.value)) as KubernetesObject
    if (this.revision > 0) object.metadata = { resourceVersion: String(this.revision), ...object.metadata }
    return object as T
  }

  /** Whether `labels` can be had without parsing. */
  get isKnown(): boolean {
    return this.#labels !== undefined
  }

  get labels(): Readonly<Record<string, string>> {
    this.#labels ??= this.peek().metadata?.labels ?? noLabels
    return this.#labels
  }

  /** Whether `field` can be had without parsing. */
  hasRead(field: string): boolean {
    return this.#fields?.has(field) === true
  }

  /** A selectable field; `read` is asked once. */
  field(name: string, read: (object: KubernetesObject) => string): string {
    let value = this.#fields?.get(name)
    if (value === undefined) {
      const object = this.peek()
      this.#labels ??= object.metadata?.labels ?? noLabels
      value = read(object)
      this.#fields ??= new Map()
      this.#fields.set(name, value)
    }
    return value
  }

  /** Where the fields of the object's own metadata begin in `value`. */
  get metadataOffset(): number {
    if (this.#metadataOffset === 0) this.#metadataOffset = spliceOffset(this.value)
    return this.#metadataOffset
  }

  /** The JSON that clients get, in one piece, with what goes around it. */
  json(before = '', after = ''): Buffer {
    return spliced(this.value, this.metadataOffset, this.revision, before, after)
  }

  /** How long `json` is. */
  get jsonBytes(): number {
    const { value } = this
    return this.revision === 0 ? value.byteLength : value.byteLength + String(this.revision).length + splicedBytes
  }

  /** The same state under a later revision: what a deletion shows. */
  at(revision: number): CachedObject {
    if (this.stored === this) return new CachedObject(this.key, this.namespace, this.name, revision, this.value)
    return new CachedObject(this.key, this.namespace, this.name, revision, () => this.value, undefined, this.stored.at(revision))
  }

  #keep(object: KubernetesObject): KubernetesObject {
    const resourceVersion = String(this.revision)
    // One that was parsed once may be shared by states that are the same.
    if (this.revision > 0 && object.metadata?.resourceVersion !== resourceVersion) object.metadata = { resourceVersion, ...object.metadata }
    this.#labels = object.metadata?.labels ?? noLabels
    if (sharedObjects.areFrozen) freezeDeep(object)
    this.#object = new WeakRef(object)
    return object
  }
}

const noLabels: Readonly<Record<string, string>> = Object.freeze({})

/** Freezing a pod takes longer than everything else that is done to it (see docs/decisions): tests do it, servers do not. */
export const sharedObjects = { areFrozen: false }

/** What was just encoded need not be parsed again by the cache that hears of it. */
const parsedValues = new WeakMap<Uint8Array, KubernetesObject>()

/** `object` is given away: its next owner is the cache. */
export function rememberParsed(value: Uint8Array, object: KubernetesObject): void {
  parsedValues.set(value, object)
}

function takeParsed(value: Uint8Array): KubernetesObject | undefined {
  const object = parsedValues.get(value)
  if (object !== undefined) parsedValues.delete(value)
  return object
}

/** Of a resourceVersion beside its digits. Objects with no other metadata have none to speak of. */
const splicedBytes = '"resourceVersion":"",'.length

const metadataStart = Buffer.from('"metadata":{')

/** Where the resourceVersion belongs: right after the brace of the object's own metadata, which the encoder writes first. */
function spliceOffset(value: Uint8Array): number {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  const found = bytes.indexOf(metadataStart)
  if (found < 0) throw new Error('a stored object has no metadata')
  return found + metadataStart.length
}

/** Revision 0 is of an object that was not stored: a dry run's. */
export function withResourceVersion(value: Uint8Array, revision: number): Buffer {
  return spliced(value, spliceOffset(value), revision, '', '')
}

function spliced(value: Uint8Array, offset: number, revision: number, before: string, after: string): Buffer {
  const insert = revision === 0 ? '' : `"resourceVersion":"${revision}"${value[offset] === 0x7d ? '' : ','}`
  const result = Buffer.allocUnsafe(before.length + value.byteLength + insert.length + after.length)
  const { copy } = Buffer.prototype
  let at = result.write(before, 0, 'latin1')
  at += copy.call(value, result, at, 0, offset)
  at += result.write(insert, at, 'latin1')
  at += copy.call(value, result, at, offset)
  result.write(after, at, 'latin1')
  return result
}

const textDecoder = new TextDecoder()

function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const key in value) freezeDeep(value[key])
  return Object.freeze(value)
}
