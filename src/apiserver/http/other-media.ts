/** Protobuf bodies and answers, and descriptions. */
import { DecodeError } from '#api/codec/decode-error.ts'
import type { DecodedObject, DecodeTarget } from '#apiserver/http/decode-object.ts'

export function decodeProtobufBody(_body: Uint8Array, _target: DecodeTarget): DecodedObject {
  throw new DecodeError('protobuf')
}
export function encodeProtobuf(value: object, _schema: string): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}
export function encodeProtobufEvent(_type: string, value: object, _schema: string): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}
export function describe(_type: string, _field: string): string {
  return ''
}
