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

export type ListEnvelope = { kind: string; apiVersion: string; metadata: object }

/** How much an item of that length takes in a list. */
export function itemBytes(length: number): number {
  return 1 + varintBytes(length) + length
}

/** Puts an item, which is a message without an envelope of its own, where a list has it; returns where it ends. */
export function writeItem(item: Uint8Array, target: Buffer, at: number): number {
  target[at] = itemsTag
  let end = at + 1
  for (let rest = item.length; ; rest = Math.floor(rest / 0x80)) {
    target[end++] = rest < 0x80 ? rest : (rest % 0x80) | 0x80
    if (rest < 0x80) break
  }
  target.set(item, end)
  return end + item.length
}

/** Yields the envelope around the items, which are written already and take so many bytes. */
export function* protobufListPieces(
  { kind, apiVersion, metadata }: ListEnvelope,
  type: TypeReference,
  items: Iterable<Buffer>,
  itemsBytes: number,
): Generator<Buffer> {
  const head = encodeProtobufMessage({ metadata }, type)
  const typeMeta = Buffer.concat([field(typeMetaTag, Buffer.from(apiVersion)), field(rawTag, Buffer.from(kind))])
  yield Buffer.concat([prefix, field(typeMetaTag, typeMeta), Buffer.from([rawTag]), varint(head.length + itemsBytes), head])
  yield* items
  yield envelopeEnd
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
