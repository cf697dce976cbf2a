/** Brings an object without a type into the shape a type would give it: metadata as every object has it, and nothing unknown. */

import { DecodeError } from '#api/codec/decode-error.ts'
import { decodeValue } from '#api/codec/json.ts'
import { fieldErrorText } from '#api/meta/aggregate.ts'
import { Check, type DynamicCheck } from '#api/meta/check.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { dropNulls } from '#api/structural/defaults.ts'
import { type Dropped, pruneObject } from '#api/structural/prune.ts'
import { type Fields, fieldShape, isFields, type Shape } from '#api/structural/shape.ts'
import { append } from '#base/append.ts'

export type CoerceOptions = {
  /** Metadata of the wrong type is dropped: it may have been stored before anybody looked at it. Otherwise it is an error. */
  readonly dropsMalformed: boolean
  /** Old definitions may keep what their schema does not know. */
  readonly prunes: boolean
}

/** Changes the object in place; adds to `dropped`, where given, the paths of what the schema does not know. Throws `DecodeError`. */
export function coerceObject(object: Fields, shape: Shape, { dropsMalformed, prunes }: CoerceOptions, dropped?: Dropped): void {
  const metadata = object['metadata']
  const read = metadata === undefined ? undefined : readMetadata(metadata, dropsMalformed, 'metadata', dropped)
  if (prunes) {
    pruneObject(object, shape, dropped)
    dropNulls(object, shape)
  }
  if (shape.hasEmbedded) {
    const found: Dropped | undefined = dropped && []
    coerceEmbedded(object, { ...shape, isEmbedded: false }, { dropsMalformed, dropped: found, check: new Check() })
    if (dropped && found) append(dropped, found.sort())
  }
  if (read !== undefined) object['metadata'] = read
}

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'

/** `{}` for what is no metadata at all, where that is let pass. */
function readMetadata(metadata: unknown, dropsMalformed: boolean, path: string, dropped: Dropped | undefined): V1ObjectMeta {
  try {
    const { object, strictErrors } = decodeValue<V1ObjectMeta>(metadata === null ? {} : metadata, objectMeta)
    for (const error of dropped === undefined ? [] : strictErrors) {
      const field = /^unknown field "(.*)"$/.exec(error)?.[1]
      if (field !== undefined) dropped?.push(`${path}.${field}`)
    }
    return object
  } catch (error) {
    if (!(error instanceof DecodeError) || !dropsMalformed) throw error
    return isFields(metadata) ? soundPart(metadata) : {}
  }
}

/** Field by field: what can be read stays. */
function soundPart(metadata: Fields): V1ObjectMeta {
  const sound: Fields = {}
  for (const name in metadata) {
    try {
      Object.assign(sound, decodeValue<Fields>({ [name]: metadata[name] }, objectMeta).object)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
    }
  }
  return sound
}

/** Reads the type and metadata of an embedded object, and of those inside of it, in place. Throws `DecodeError`. */
export function coerceEmbeddedObject(object: Fields, shape: Shape): void {
  coerceEmbedded(object, shape, { dropsMalformed: false, dropped: undefined, check: new Check() })
}

type Place = { readonly dropsMalformed: boolean; readonly dropped: Dropped | undefined; readonly check: DynamicCheck }

function coerceEmbedded(value: unknown, shape: Shape, place: Place): void {
  if (Array.isArray(value)) {
    const { items } = shape
    if (items?.hasEmbedded)
      for (const [index, item] of value.entries()) coerceEmbedded(item, items, { ...place, check: place.check.at(index) })
  } else if (isFields(value)) {
    if (shape.isEmbedded) coerceTypeAndMetadata(value, place)
    for (const name in value) {
      const inside = fieldShape(shape, name)
      if (inside?.hasEmbedded)
        coerceEmbedded(value[name], inside, {
          ...place,
          check: shape.properties?.has(name) ? place.check.at(name) : place.check.key(name),
        })
    }
  }
}

function coerceTypeAndMetadata(fields: Fields, { dropsMalformed, dropped, check }: Place): void {
  for (const name of ['apiVersion', 'kind']) {
    if (!(name in fields) || typeof fields[name] === 'string') continue
    if (dropsMalformed) delete fields[name]
    else refuse(check.at(name), fields[name], 'must be a string')
  }
  if (fields['metadata'] === undefined) return
  try {
    const metadata = readMetadata(fields['metadata'], dropsMalformed, check.at('metadata').path, dropped)
    if (metadata.creationTimestamp == null) delete metadata.creationTimestamp
    fields['metadata'] = metadata
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    refuse(check.at('metadata'), fields['metadata'], error.message)
  }
}

function refuse(check: DynamicCheck, value: unknown, why: string): never {
  check.invalid(why, value)
  throw new DecodeError(check.errors.map(fieldErrorText).join(', '))
}
