/**
 * Lists as the bytes of an answer, in pieces. Making one takes a millisecond or so at most; an empty one says that some work is done,
 * so that whoever takes them can give others their turn.
 */
import { jsonText } from '#api/codec/json-text.ts'
import { encodeProtobufMessage } from '#api/codec/protobuf.ts'
import { itemBytes, protobufListPieces, writeItem } from '#api/codec/protobuf-list.ts'
import { yamlPieces, yamlText } from '#api/codec/yaml.ts'
import { takeChunk } from '#apiserver/http/chunks.ts'
import type { CachedObject } from '#apiserver/watch-cache/cached-object.ts'

const textPieceChars = 64 * 1024
/** So much of what is stored is read before others get their turn: a table shows little of a large object, and takes as long. */
const readBytes = 256 * 1024
const itemStart = '{"metadata":{"resourceVersion":"'
const nothing = Buffer.alloc(0)
/** So many times as long as reading takes writing YAML. */
const yamlShare = 8
/** Protobuf of so many objects is made before others get their turn. */
const messagesPerTurn = 32

/** The list without its items. */
export type ListHead = { kind: string; apiVersion: string; metadata: object } & Readonly<Record<string, unknown>>

/** What goes before the items of a list and what after them. `name` is that of the field with the items. */
function frame(head: ListHead, name: string, isPretty: boolean): { start: string; end: string } {
  const mark = '\u0000'
  const whole = { ...head, [name]: [mark] }
  const [start = '', end = ''] = (isPretty ? JSON.stringify(whole, undefined, 2) : JSON.stringify(whole)).split(JSON.stringify(mark))
  return { start, end }
}

/** Made of the bytes that were stored. Items of a list leave kind and apiVersion out, as upstream's do, but for custom resources. */
export function* storedListPieces(head: ListHead, items: readonly CachedObject[], keepsType = false): Generator<Buffer> {
  const { start, end } = frame(head, 'items', false)
  let chunk = takeChunk(start.length * 3)
  let used = chunk.write(start, 0)
  for (let index = 0; index < items.length; index++) {
    const cached = items[index] as CachedObject
    const { value, revision, metadataOffset: offset } = cached
    const start = keepsType ? `${Buffer.from(value.buffer, value.byteOffset, offset).toString()}"resourceVersion":"` : itemStart
    const before = `${index === 0 ? '' : ','}${start}${revision}"${value[offset] === 0x7d ? '' : ','}`
    const needed = before.length + value.byteLength - offset
    if (used + needed > chunk.length) {
      yield chunk.subarray(0, used)
      chunk = takeChunk(needed)
      used = 0
    }
    used += chunk.write(before, used, 'latin1')
    // Unlike `set` with a part of the value, this makes no view of it.
    used += Buffer.prototype.copy.call(value, chunk, used, offset)
  }
  yield chunk.subarray(0, used)
  yield Buffer.from(end)
}

/** Items that are made for this answer: tables, metadata alone, other versions, text for people. */
export function* textListPieces(
  head: ListHead,
  name: string,
  items: readonly CachedObject[],
  shown: (cached: CachedObject) => unknown,
  isPretty: boolean,
): Generator<Buffer> {
  const { start, end } = items.length === 0 ? emptyFrame(head, name, isPretty) : frame(head, name, isPretty)
  let text = start
  let read = 0
  for (let index = 0; index < items.length; index++) {
    const cached = items[index] as CachedObject
    const item = shown(cached)
    if (index > 0) text += isPretty ? ',\n    ' : ','
    // Text in JSON has no newlines of its own.
    text += isPretty ? jsonText(item, 2).replaceAll('\n', '\n    ') : jsonText(item)
    read += cached.value.byteLength
    if (text.length >= textPieceChars) {
      yield Buffer.from(text)
      text = ''
      read = 0
    } else if (read >= readBytes) {
      yield nothing
      read = 0
    }
  }
  yield Buffer.from(text + end)
}

/** As `encodeYaml` has it: an item in a list of one looks as it does among others. */
export function* yamlListPieces(
  head: ListHead,
  name: string,
  items: readonly CachedObject[],
  shown: (cached: CachedObject) => unknown,
): Generator<Buffer> {
  const none = `${name}: []\n`
  const whole = yamlText({ ...head, [name]: [] })
  if (items.length === 0) return yield Buffer.from(whole)
  const at = whole.startsWith(none) ? 0 : whole.indexOf(`\n${none}`) + 1
  const opening = `${name}:\n`
  let text = whole.slice(0, at) + opening
  let read = 0
  for (const cached of items) {
    let isFirst = true
    read += cached.value.byteLength
    for (const piece of yamlPieces({ [name]: [shown(cached)] })) {
      text += isFirst ? piece.slice(opening.length) : piece
      isFirst = false
      read += piece.length * yamlShare
      if (read < readBytes) continue
      read = 0
      if (text.length < textPieceChars) yield nothing
      else {
        yield Buffer.from(text)
        text = ''
      }
    }
  }
  yield Buffer.from(text + whole.slice(at + none.length))
}

function emptyFrame(head: ListHead, name: string, isPretty: boolean): { start: string; end: string } {
  const whole = { ...head, [name]: [] }
  return { start: jsonText(whole, isPretty ? 2 : undefined), end: '' }
}

/** Protobuf tells the length of a list before its items: all of them are made first. */
export function* protobufPieces(
  head: ListHead,
  listSchema: string,
  items: readonly CachedObject[],
  itemSchema: string,
  shown: (cached: CachedObject) => object,
): Generator<Buffer> {
  // In few large buffers: thousands of small ones would be a burden to the garbage collector.
  const full: Buffer[] = []
  let chunk = takeChunk(0)
  let used = 0
  let total = 0
  let read = 0
  for (let index = 0; index < items.length; index++) {
    const cached = items[index] as CachedObject
    const message = encodeProtobufMessage(shown(cached), itemSchema)
    const needed = itemBytes(message.length)
    if (used + needed > chunk.length) {
      full.push(chunk.subarray(0, used))
      chunk = takeChunk(needed)
      used = 0
    }
    used = writeItem(message, chunk, used)
    total += needed
    read += cached.value.byteLength
    if (read < readBytes && index % messagesPerTurn !== messagesPerTurn - 1) continue
    read = 0
    yield nothing
  }
  full.push(chunk.subarray(0, used))
  yield* protobufListPieces(head, listSchema, full, total)
}
