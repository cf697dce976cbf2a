/** YAML and protobuf bodies. */
import { DecodeError } from '#api/codec/decode-error.ts'
import type { JsonDocument } from '#api/codec/json.ts'
import type { DecodedObject, DecodeTarget } from '#apiserver/http/decode-object.ts'

export function decodeProtobufBody(_body: Uint8Array, _target: DecodeTarget): DecodedObject {
  throw new DecodeError('protobuf')
}
export function readYaml(_body: Uint8Array): JsonDocument {
  throw new DecodeError('yaml')
}
export function yamlToJson(body: Uint8Array): {
  object: import('#api/meta/patch/json-value.ts').JsonObject
  duplicates: string | undefined
} {
  return { object: JSON.parse(Buffer.from(body).toString()), duplicates: undefined }
}
export function encodeProtobuf(value: object, _schema: string): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}
export function encodeProtobufEvent(_type: string, value: object, _schema: string): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}
export function encodeYaml(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}
export function describe(_type: string, _field: string): string {
  return ''
}
