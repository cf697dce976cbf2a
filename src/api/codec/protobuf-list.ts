/** A list in protobuf, put together from items that were encoded one by one. */
import type { TypeReference } from './json.ts'
import { encodeProtobufMessage } from './protobuf.ts'

const prefix = Buffer.from([0x6b, 0x38, 0x73, 0x00])
/** Content encoding and content type: fields 3 and 4 of the envelope, both empty. */
const envelopeEnd = Buffer.from([0x1a, 0x00, 0x22, 0x00])
const typeMetaTag = 0x0a
const rawTag = 0x12
/** Items are field 2 of every list. */
const itemsTag = 0x12
const pieceBytes = 256 * 1024

export type ListEnvelope = { kind: string; apiVersion: string; metadata: object }

/** Yields the envelope and the items, each a message without an envelope of its own, in pieces of moderate size. */
export function* protobufListPieces(
  { kind, apiVersion, metadata }: ListEnvelope,
  type: TypeReference,
  items: readonly Uint8Array[],
): Generator<Buffer> {
  const head = encodeProtobufMessage({ metadata }, type)
  let rawBytes = head.length
  for (const item of items) rawBytes += 1 + varintBytes(item.length) + item.length
  const typeMeta = Buffer.concat([field(typeMetaTag, Buffer.from(apiVersion)), field(rawTag, Buffer.from(kind))])
  let waiting: Uint8Array[] = [prefix, field(typeMetaTag, typeMeta), Buffer.from([rawTag]), varint(rawBytes), head]
  let waitingBytes = 0
  for (const item of items) {
    waiting.push(Buffer.from([itemsTag]), varint(item.length), item)
    waitingBytes += item.length
    if (waitingBytes < pieceBytes) continue
    yield Buffer.concat(waiting)
    waiting = []
    waitingBytes = 0
  }
  waiting.push(envelopeEnd)
  yield Buffer.concat(waiting)
}

function field(tag: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag]), varint(bytes.length), bytes])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80)
    rest = Math.floor(rest / 0x80)
  }
  bytes.push(rest)
  return Buffer.from(bytes)
}

function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++
  return bytes
}
