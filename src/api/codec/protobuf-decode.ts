/** Protobuf messages into objects in their JSON shape, canonical from the start. */

import { canonicalQuantity } from '#api/meta/quantity.ts'
import { formatDuration } from '#base/duration.ts'
import { type DropLimit, ProtobufError, type ProtobufReader, wireBytes, wireEndGroup, wireVarint } from '#wire/protobuf-reader.ts'
import { sortedByKey } from './canonical-walk.ts'
import { type TimePrecision, timeText } from './go-time.ts'
import { setOwn } from './own-key.ts'
import {
  type FieldPlan,
  type MessagePlan,
  opBool,
  opBytes,
  opDouble,
  opDuration,
  opInt32,
  opInt64,
  opIntOrString,
  opList,
  opMap,
  opMessage,
  opMicroTime,
  opQuantity,
  opSchemaOrArray,
  opSchemaOrBool,
  opSchemaOrStringArray,
  opString,
  opTime,
  opUint64,
  type ValuePlan,
} from './plan.ts'
import { type ProtobufField, type ProtobufFields, protobufFieldsOf, wireTypeOf } from './protobuf-plan.ts'
import { zeroField, zeroValue } from './zero.ts'

type JsonObject = Record<string, unknown>

/** Go's times end with the year 9999 in JSON. */
const maxSeconds = 253402300799
const minSeconds = -62135596800

/** How many messages may still come. Two bytes make one, which takes up a hundred times as much in memory. */
let messagesLeft = 0

/** Of entries in one list or map; `tooMany` is thrown where there are more. `dropped`: of fields that are unknown, or come once more. */
export type ListLimit = { most: number; tooMany(most: number): Error; dropped?: DropLimit }

const noLimit: ListLimit = { most: Number.POSITIVE_INFINITY, tooMany: () => new ProtobufError('proto: too many entries') }
let listLimit = noLimit

/** Reads up to the reader's end. Throws `ProtobufError`, or what is wrong with a quantity. */
export function readWholeMessage(reader: ProtobufReader, plan: MessagePlan, limit = noLimit): JsonObject {
  messagesLeft = Math.max(50_000, (reader.end - reader.position) / 24)
  listLimit = limit
  return readMessage(reader, plan)
}

function readMessage(reader: ProtobufReader, plan: MessagePlan): JsonObject {
  if (--messagesLeft < 0) throw new ProtobufError('proto: too many messages')
  const values: unknown[] = new Array(plan.fields.length)
  readFields(reader, plan, protobufFieldsOf(plan), values)
  const object: JsonObject = {}
  for (let index = 0; index < values.length; index++) {
    const field = plan.fields[index] as FieldPlan
    const value = canonicalField(values[index], field)
    if (value !== undefined) object[field.name] = value
  }
  return object
}

/** Undefined where nothing is to be written. */
function canonicalField(value: unknown, field: FieldPlan): unknown {
  if (value === undefined || value === null) return field.always === 1 ? zeroField(field) : undefined
  switch (field.op) {
    case opList:
      if ((value as unknown[]).length > 0) return value
      break
    case opMap:
      // There is one only if an entry came.
      return (value as MapBuilder).map
    case opString:
    case opBytes:
      if (value !== '') return value
      break
    case opBool:
      if (value === true) return value
      break
    case opInt32:
    case opInt64:
    case opUint64:
    case opDouble:
      if (value !== 0) return value
      break
    default:
      return value
  }
  if (field.emptyIsNull) return null
  return field.dropsZero ? undefined : value
}

/** Into `values`, by the order of the type's fields. */
function readFields(reader: ProtobufReader, plan: MessagePlan, fields: ProtobufFields, values: unknown[]): void {
  while (!reader.isAtEnd) {
    const tag = reader.tag()
    const each = fields.byNumber[tag >>> 3]
    if (each === undefined) {
      if ((tag & 7) === wireEndGroup) throw new ProtobufError(`proto: ${plan.type.goName}: wiretype end group for non-group`)
      reader.skip(tag & 7)
      continue
    }
    if (each.field !== undefined) readField(reader, tag & 7, each, each.field, values)
    else {
      if ((tag & 7) !== wireBytes) throw wrongWireType(tag & 7, each)
      const outer = reader.enter()
      readFields(reader, plan, each.embedded as ProtobufFields, values)
      reader.end = outer
    }
  }
}

function readField(reader: ProtobufReader, wireType: number, each: ProtobufField, field: FieldPlan, values: unknown[]): void {
  const { value: plan, order } = field
  const isWrapped = plan.schema.kind === 'list' && plan.schema.wrapped
  if (field.op === opList && !isWrapped) {
    const list = (values[order] ?? []) as unknown[]
    values[order] = list
    readItems(reader, wireType, each, plan.items as ValuePlan, list)
    return
  }
  if (wireType !== (each.tag & 7)) throw wrongWireType(wireType, each)
  if (field.op === opMap) {
    const map = (values[order] ?? new MapBuilder()) as MapBuilder
    values[order] = map
    readEntry(reader, plan.items as ValuePlan, map)
    return
  }
  // The last one counts.
  if (values[order] !== undefined) reader.drop()
  values[order] = field.op === opString ? reader.string() : readValue(reader, plan)
}

function readItems(reader: ProtobufReader, wireType: number, each: ProtobufField, items: ValuePlan, list: unknown[]): void {
  if (list.length >= listLimit.most) throw listLimit.tooMany(listLimit.most)
  if (wireType === (each.tag & 7)) {
    list.push(readValue(reader, items))
    return
  }
  // Numbers may come packed, whatever the schema says.
  if (wireType !== wireBytes || wireTypeOf(items) === wireBytes) throw wrongWireType(wireType, each)
  const outer = reader.enter()
  while (!reader.isAtEnd) {
    if (list.length >= listLimit.most) throw listLimit.tooMany(listLimit.most)
    list.push(readValue(reader, items))
  }
  reader.end = outer
}

function wrongWireType(wireType: number, each: ProtobufField): ProtobufError {
  return new ProtobufError(`proto: wrong wireType = ${wireType} for field ${each.goName}`)
}

/** Entries come one by one; most senders sort them, but none has to. */
class MapBuilder {
  readonly #map: JsonObject = {}
  #last = ''
  #isSorted = true
  /** Those that came, of which the last with the same key counts. */
  #count = 0

  add(key: string, value: unknown): void {
    if (++this.#count > listLimit.most) throw listLimit.tooMany(listLimit.most)
    if (key < this.#last) this.#isSorted = false
    this.#last = key
    setOwn(this.#map, key, value)
  }

  get map(): JsonObject {
    return this.#isSorted ? this.#map : sortedByKey(this.#map)
  }
}

function readEntry(reader: ProtobufReader, values: ValuePlan, map: MapBuilder): void {
  if (--messagesLeft < 0) throw new ProtobufError('proto: too many messages')
  let key = ''
  let value: unknown
  // Not by `readEach`: entries come by the ten thousand, and a function for each of them would be garbage.
  const outer = reader.enter()
  while (!reader.isAtEnd) {
    const tag = reader.tag()
    const number = tag >>> 3
    const wireType = tag & 7
    if (number === 1) key = textOf(reader, wireType, 'key')
    else if (number === 2 && wireType === wireTypeOf(values)) value = readValue(reader, values)
    else reader.skip(wireType)
  }
  reader.end = outer
  map.add(key, value ?? zeroValue(values))
}

/** Calls `read` with the number and the wire type of every field of the message that starts here. */
function readEach(reader: ProtobufReader, read: (number: number, wireType: number) => void): void {
  const outer = reader.enter()
  while (!reader.isAtEnd) {
    const tag = reader.tag()
    read(tag >>> 3, tag & 7)
  }
  reader.end = outer
}

function textOf(reader: ProtobufReader, wireType: number, field: string): string {
  if (wireType !== wireBytes) throw new ProtobufError(`proto: wrong wireType = ${wireType} for field ${field}`)
  return reader.string()
}

function readValue(reader: ProtobufReader, plan: ValuePlan): unknown {
  switch (plan.op) {
    case opString:
      return reader.string()
    case opBool:
      return reader.bool()
    case opInt32:
      return reader.int32()
    case opInt64:
      return reader.int64()
    case opUint64:
      return reader.uint64()
    case opDouble:
      return reader.double()
    case opBytes:
      return reader.bytes().toString('base64')
    case opMessage: {
      const outer = reader.enter()
      const object = readMessage(reader, plan.resolved ?? plan.message)
      reader.end = outer
      return object
    }
    case opList:
      return readWrapped(reader, plan.items as ValuePlan)
    case opTime:
      return readTime(reader, 'seconds')
    case opMicroTime:
      return readTime(reader, 'micros')
    case opDuration:
      return formatDuration(BigInt(readNumber(reader)))
    case opQuantity:
      return readQuantity(reader)
    case opIntOrString:
      return readIntOrString(reader)
    case opSchemaOrArray:
    case opSchemaOrBool:
    case opSchemaOrStringArray:
      return readSchemaOr(reader, plan)
    default:
      return readJson(reader)
  }
}

function readWrapped(reader: ProtobufReader, items: ValuePlan): unknown[] {
  const list: unknown[] = []
  readEach(reader, (number, wireType) => {
    if (number === 1 && wireType === wireTypeOf(items)) list.push(readValue(reader, items))
    else reader.skip(wireType)
  })
  return list
}

function readTime(reader: ProtobufReader, precision: TimePrecision): string | null {
  let seconds = 0
  let nanos = 0
  let isEmpty = true
  readEach(reader, (number, wireType) => {
    isEmpty = false
    if (number === 1 && wireType === wireVarint) seconds = Number(reader.int64())
    else if (number === 2 && wireType === wireVarint) nanos = reader.int32()
    else reader.skip(wireType)
  })
  if (isEmpty) return null
  if (seconds > maxSeconds || seconds < minSeconds || nanos < 0 || nanos > 999_999_999) throw new ProtobufError('proto: time out of range')
  return timeText(seconds, precision === 'seconds' ? 0 : nanos, precision)
}

function readNumber(reader: ProtobufReader): number | bigint {
  let value: number | bigint = 0
  readEach(reader, (number, wireType) => {
    if (number === 1 && wireType === wireVarint) value = reader.int64()
    else reader.skip(wireType)
  })
  return value
}

function readQuantity(reader: ProtobufReader): string {
  let text = '0'
  readEach(reader, (number, wireType) => {
    if (number === 1) text = textOf(reader, wireType, 'string')
    else reader.skip(wireType)
  })
  return text === '' ? '0' : canonicalQuantity(text)
}

function readIntOrString(reader: ProtobufReader): string | number {
  let isString = false
  let number = 0
  let text = ''
  readEach(reader, (field, wireType) => {
    if (field === 1 && wireType === wireVarint) isString = reader.int64() === 1
    else if (field === 2 && wireType === wireVarint) number = reader.int32()
    else if (field === 3) text = textOf(reader, wireType, 'StrVal')
    else reader.skip(wireType)
  })
  return isString ? text : number
}

function readJson(reader: ProtobufReader): unknown {
  let value: unknown = null
  readEach(reader, (number, wireType) => {
    if (number !== 1 || wireType !== wireBytes) {
      reader.skip(wireType)
      return
    }
    const text = reader.string()
    try {
      value = text === '' ? null : JSON.parse(text)
    } catch {
      throw new ProtobufError('proto: free-form field is not JSON')
    }
  })
  return value
}

function readSchemaOr(reader: ProtobufReader, plan: ValuePlan): unknown {
  let allows = false
  let schema: JsonObject | undefined
  const list: unknown[] = []
  const readSchema = (): JsonObject => {
    const outer = reader.enter()
    const object = readMessage(reader, plan.message)
    reader.end = outer
    return object
  }
  readEach(reader, (number, wireType) => {
    if (plan.op === opSchemaOrBool && number === 1 && wireType === wireVarint) allows = reader.bool()
    else if (wireType !== wireBytes || number > 2) reader.skip(wireType)
    else if (number === (plan.op === opSchemaOrBool ? 2 : 1)) schema = readSchema()
    else list.push(plan.op === opSchemaOrArray ? readSchema() : reader.string())
  })
  if (plan.op === opSchemaOrBool) return schema ?? allows
  return list.length > 0 ? list : (schema ?? null)
}
