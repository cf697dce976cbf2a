/** Objects from Kubernetes' protobuf and to it: an envelope that names the kind, around the object's own message. */

import { QuantityError } from '#api/meta/quantity.ts'
import { schemaOf } from '#api/schema/schema.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { ProtobufError, ProtobufReader, wireBytes } from '#wire/protobuf-reader.ts'
import { ProtobufWriter } from '#wire/protobuf-writer.ts'
import type { JsonObject } from './canonical-walk.ts'
import { DecodeError } from './decode-error.ts'
import type { TypeReference } from './json.ts'
import { planOf } from './plan.ts'
import { type ListLimit, readWholeMessage } from './protobuf-decode.ts'
import { writeFields } from './protobuf-encode.ts'
import { protobufFieldsOf } from './protobuf-plan.ts'
import type { TypeMeta } from './type-meta.ts'

/** `k8s` and a zero byte. */
const prefix = Buffer.from([0x6b, 0x38, 0x73, 0x00])

const tag = (number: number): number => (number << 3) | wireBytes

let spare: ProtobufWriter | undefined

/** The object's `kind` and `apiVersion` go into the envelope. */
export function encodeProtobuf(object: object, type: TypeReference): Buffer {
  return written((writer) => writeEnvelope(writer, object as JsonObject, type))
}

/** The object's message alone, as lists hold it. */
export function encodeProtobufMessage(object: object, type: TypeReference): Buffer {
  return written((writer) => writeFields(writer, object as JsonObject, protobufFieldsOf(planOf(resolved(type)))))
}

/** One event of a watch as the stream has it: four bytes of length, then the event with the object in its envelope. */
export function encodeProtobufEvent(eventType: string, object: object, type: TypeReference): Buffer {
  return written((writer) => {
    const before = writer.length
    const rawBefore = writer.length
    writeEnvelope(writer, object as JsonObject, type)
    writer.endMessage(tag(1), rawBefore)
    writer.endMessage(tag(2), rawBefore)
    writer.string(eventType)
    writer.uint32(tag(1))
    writer.raw(bigEndian(writer.length - before))
  })
}

/** Throws `DecodeError` for what is no envelope. */
export function readProtobuf(bytes: Uint8Array, limit?: ListLimit): ProtobufDocument {
  if (bytes.length === 0) throw new DecodeError('empty data')
  if (bytes.length < prefix.length || prefix.compare(bytes, 0, prefix.length) !== 0) {
    throw new DecodeError(`provided data does not appear to be a protobuf message, expected prefix [${[...prefix].join(' ')}]`)
  }
  if (bytes.length === prefix.length) throw new DecodeError('empty body')
  return refused(() => readUnknown(new ProtobufReader(bytes.subarray(prefix.length), limit?.dropped)))
}

export class ProtobufDocument {
  readonly typeMeta: TypeMeta
  readonly #message: Uint8Array

  constructor(typeMeta: TypeMeta, message: Uint8Array) {
    this.typeMeta = typeMeta
    this.#message = message
  }

  /** Canonical. Protobuf has no unknown or duplicate fields that anybody would mind. Throws `DecodeError`. */
  decode<T = JsonObject>(type: TypeReference, limit?: ListLimit): T {
    const object = decodeProtobufMessage(this.#message, type, limit)
    const { kind, apiVersion } = this.typeMeta
    return { ...omitEmpty({ kind, apiVersion }), ...object } as T
  }
}

/** Throws `DecodeError`. */
export function decodeProtobufMessage<T = JsonObject>(bytes: Uint8Array, type: TypeReference, limit?: ListLimit): T {
  return refused(() => readWholeMessage(new ProtobufReader(bytes, limit?.dropped), planOf(resolved(type)), limit) as T)
}

/** One event, without the four bytes of length before it. Throws `DecodeError`. */
export function readProtobufEvent(bytes: Uint8Array): { type: string; object: ProtobufDocument } {
  return refused(() => {
    const reader = new ProtobufReader(bytes)
    let type = ''
    let object: Uint8Array = new Uint8Array()
    while (!reader.isAtEnd) {
      const each = reader.tag()
      if (each === tag(1)) type = reader.string()
      else if (each === tag(2)) {
        const outer = reader.enter()
        while (!reader.isAtEnd) {
          const inner = reader.tag()
          if (inner === tag(1)) object = reader.bytes()
          else reader.skip(inner & 7)
        }
        reader.end = outer
      } else reader.skip(each & 7)
    }
    return { type, object: readProtobuf(object) }
  })
}

function writeEnvelope(writer: ProtobufWriter, object: JsonObject, type: TypeReference): void {
  const { kind, apiVersion } = object
  writer.string('')
  writer.uint32(tag(4))
  writer.string('')
  writer.uint32(tag(3))
  const before = writer.length
  writeFields(writer, object, protobufFieldsOf(planOf(resolved(type))))
  writer.endMessage(tag(2), before)
  const metaBefore = writer.length
  writer.string(typeof kind === 'string' ? kind : '')
  writer.uint32(tag(2))
  writer.string(typeof apiVersion === 'string' ? apiVersion : '')
  writer.uint32(tag(1))
  writer.endMessage(tag(1), metaBefore)
  writer.raw(prefix)
}

function readUnknown(reader: ProtobufReader): ProtobufDocument {
  const typeMeta: TypeMeta = { apiVersion: '', kind: '' }
  let message: Uint8Array = new Uint8Array()
  while (!reader.isAtEnd) {
    const each = reader.tag()
    if (each === tag(1)) {
      const outer = reader.enter()
      while (!reader.isAtEnd) {
        const inner = reader.tag()
        if (inner === tag(1)) typeMeta.apiVersion = reader.string()
        else if (inner === tag(2)) typeMeta.kind = reader.string()
        else reader.skip(inner & 7)
      }
      reader.end = outer
    } else if (each === tag(2)) message = reader.bytes()
    else reader.skip(each & 7)
  }
  return new ProtobufDocument(typeMeta, message)
}

/** One writer serves them all: writing never waits, and never nests. */
function written(write: (writer: ProtobufWriter) => void): Buffer {
  const writer = spare ?? new ProtobufWriter(16 * 1024)
  spare = undefined
  write(writer)
  const bytes = writer.finish()
  if (bytes.length < 1024 * 1024) spare = writer
  return bytes
}

function refused<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof ProtobufError || error instanceof QuantityError) throw new DecodeError(error.message)
    if (error instanceof RangeError) throw new DecodeError('proto: exceeded max depth')
    throw error
  }
}

function bigEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function resolved(type: TypeReference) {
  return typeof type === 'string' ? schemaOf(type) : type
}
