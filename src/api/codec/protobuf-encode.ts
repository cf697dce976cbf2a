/** Objects in their JSON shape into protobuf messages. Null and absent fields are not written, zero ones are. */

import { parseDuration } from '#base/duration.ts'
import type { ProtobufWriter } from '#wire/protobuf-writer.ts'
import { parseTime } from './go-time.ts'
import { jsonText } from './json-text.ts'
import {
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
import { type ProtobufFields, protobufFieldsOf, wireTypeOf } from './protobuf-plan.ts'

type JsonObject = Record<string, unknown>

const one = (1 << 3) | 2
const two = (2 << 3) | 2
const oneVarint = 1 << 3
const twoVarint = 2 << 3
const three = (3 << 3) | 2

/** Writes a message's fields, from the last to the first. */
export function writeFields(writer: ProtobufWriter, object: JsonObject, fields: ProtobufFields): void {
  const { downwards } = fields
  for (let index = 0; index < downwards.length; index++) {
    const each = downwards[index]
    if (each === undefined) continue
    const { field } = each
    if (field === undefined) {
      const before = writer.length
      writeFields(writer, object, each.embedded as ProtobufFields)
      if (writer.length > before) writer.endMessage(each.tag, before)
      continue
    }
    const value = object[field.name]
    if (value === undefined || value === null) continue
    if (field.op === opString) {
      writer.string(value as string)
      writer.uint32(each.tag)
    } else if (field.op === opList) writeList(writer, value as unknown[], each.tag, field.value)
    else if (field.op === opMap) writeMap(writer, value as JsonObject, each.tag, field.value)
    else {
      writeValue(writer, value, field.value)
      writer.uint32(each.tag)
    }
  }
}

function writeList(writer: ProtobufWriter, list: unknown[], tag: number, plan: ValuePlan): void {
  if (plan.schema.kind === 'list' && plan.schema.wrapped) {
    writeValue(writer, list, plan)
    writer.uint32(tag)
  } else writeItems(writer, list, tag, plan.items as ValuePlan)
}

function writeItems(writer: ProtobufWriter, list: unknown[], tag: number, items: ValuePlan): void {
  for (let index = list.length - 1; index >= 0; index--) {
    writeValue(writer, list[index], items)
    writer.uint32(tag)
  }
}

function writeMap(writer: ProtobufWriter, map: JsonObject, tag: number, plan: ValuePlan): void {
  const values = plan.items as ValuePlan
  const valueTag = (two & ~7) | wireTypeOf(values)
  const keys = Object.keys(map)
  for (let index = keys.length - 1; index >= 0; index--) {
    const key = keys[index] as string
    const before = writer.length
    const value = map[key]
    if (value !== undefined && value !== null) {
      writeValue(writer, value, values)
      writer.uint32(valueTag)
    }
    writer.string(key)
    writer.uint32(one)
    writer.endMessage(tag, before)
  }
}

/** A value with its length, if it has one, but without its tag. */
function writeValue(writer: ProtobufWriter, value: unknown, plan: ValuePlan): void {
  switch (plan.op) {
    case opString:
      writer.string(value as string)
      return
    case opBool:
      writer.bool(value as boolean)
      return
    case opInt32:
    case opInt64:
    case opUint64:
      writer.int64(value as number | bigint)
      return
    case opDouble:
      writer.double(value as number)
      return
    case opBytes:
      writer.bytes(Buffer.from(value as string, 'base64'))
      return
  }
  const before = writer.length
  writeMessage(writer, value, plan)
  writer.uint32(writer.length - before)
}

function writeMessage(writer: ProtobufWriter, value: unknown, plan: ValuePlan): void {
  if (value === null || value === undefined) return
  switch (plan.op) {
    case opMessage:
      writeFields(writer, value as JsonObject, protobufFieldsOf(plan.message))
      return
    case opList:
      // The inside of a wrapped list.
      writeItems(writer, value as unknown[], one, plan.items as ValuePlan)
      return
    case opTime:
    case opMicroTime:
      writeTime(writer, value as string, plan.op === opTime)
      return
    case opDuration:
      writer.int64(parseDuration(value as string))
      writer.uint32(oneVarint)
      return
    case opQuantity:
      writer.string(value as string)
      writer.uint32(one)
      return
    case opIntOrString:
      writer.string(typeof value === 'string' ? value : '')
      writer.uint32(three)
      writer.int64(typeof value === 'string' ? 0 : (value as number))
      writer.uint32(twoVarint)
      writer.uint32(typeof value === 'string' ? 1 : 0)
      writer.uint32(oneVarint)
      return
    case opSchemaOrArray:
    case opSchemaOrBool:
    case opSchemaOrStringArray:
      writeSchemaOr(writer, value, plan)
      return
    default:
      // Free-form JSON travels as its text.
      writer.bytes(Buffer.from(jsonText(value)))
      writer.uint32(one)
  }
}

function writeTime(writer: ProtobufWriter, text: string, isSeconds: boolean): void {
  const { seconds, nanos } = parseTime(text, isSeconds ? 'seconds' : 'micros')
  writer.int64(isSeconds ? 0 : nanos)
  writer.uint32(twoVarint)
  writer.int64(seconds)
  writer.uint32(oneVarint)
}

function writeSchemaOr(writer: ProtobufWriter, value: unknown, plan: ValuePlan): void {
  const schema = (each: unknown, tag: number): void => {
    const before = writer.length
    writeFields(writer, each as JsonObject, protobufFieldsOf(plan.message))
    writer.endMessage(tag, before)
  }
  if (plan.op === opSchemaOrBool) {
    if (typeof value !== 'boolean') schema(value, two)
    writer.bool(value !== false)
    writer.uint32(oneVarint)
  } else if (!Array.isArray(value)) schema(value, one)
  else if (plan.op === opSchemaOrArray) for (const each of value.toReversed()) schema(each, two)
  else {
    for (const each of value.toReversed()) {
      writer.string(each as string)
      writer.uint32(two)
    }
  }
}
