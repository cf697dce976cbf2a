/** A type's schema, made ready for protobuf: fields by number, embedded structs as the messages they are there. */
import type { FieldSchema, TypeSchema } from '#api/schema/type-schema.ts'
import { wire64, wireBytes, wireVarint } from '#wire/protobuf-reader.ts'
import { type FieldPlan, type MessagePlan, opBool, opDouble, opInt32, opInt64, opUint64, type ValuePlan } from './plan.ts'

export class ProtobufField {
  readonly number: number
  readonly tag: number
  readonly goName: string
  /** Of a field; undefined for an embedded struct. */
  readonly field: FieldPlan | undefined
  /** The fields of an embedded struct, which in JSON are the object's own. */
  readonly embedded: ProtobufFields | undefined

  constructor(number: number, goName: string, field: FieldPlan | undefined, embedded: ProtobufFields | undefined) {
    this.number = number
    this.goName = goName
    this.field = field
    this.embedded = embedded
    this.tag = (number << 3) | (field === undefined ? wireBytes : wireTypeOf(field.value))
  }
}

export class ProtobufFields {
  /** By number, with holes. */
  readonly byNumber: readonly (ProtobufField | undefined)[]
  /** From the highest number to the lowest, as they are written. */
  readonly downwards: readonly ProtobufField[]

  constructor(plan: MessagePlan, fields: readonly FieldPlan[], depth: number) {
    const own: ProtobufField[] = []
    const embedded = new Map<number, { goName: string; fields: FieldPlan[] }>()
    for (const field of fields) {
      const struct = field.schema.inlined[depth]
      if (struct === undefined) {
        if (field.schema.protobufNumber > 0) own.push(new ProtobufField(field.schema.protobufNumber, field.schema.goName, field, undefined))
        continue
      }
      const group = embedded.get(struct.protobufNumber) ?? { goName: struct.goName, fields: [] }
      group.fields.push(field)
      embedded.set(struct.protobufNumber, group)
    }
    for (const [number, group] of embedded) {
      own.push(new ProtobufField(number, group.goName, undefined, new ProtobufFields(plan, group.fields, depth + 1)))
    }
    this.downwards = own.sort((a, b) => b.number - a.number)
    const byNumber: (ProtobufField | undefined)[] = Array.from({ length: (own[0]?.number ?? 0) + 1 })
    for (const field of own) byNumber[field.number] = field
    this.byNumber = byNumber
  }
}

const plans = new WeakMap<MessagePlan, ProtobufFields>()

export function protobufFieldsOf(plan: MessagePlan): ProtobufFields {
  const known = plans.get(plan)
  if (known !== undefined) return known
  const fields = new ProtobufFields(plan, plan.fields, 0)
  plans.set(plan, fields)
  return fields
}

/** Whether protobuf can carry objects of the type: Table and some others have no numbers. */
export function hasProtobuf(type: TypeSchema): boolean {
  const { fields } = type
  return fields.length === 0 || fields.some((field: FieldSchema) => field.protobufNumber > 0) || fields.every(isTypeMeta)
}

function isTypeMeta({ name }: FieldSchema): boolean {
  return name === 'kind' || name === 'apiVersion'
}

/** Of one item, if it is a list. */
export function wireTypeOf(value: ValuePlan): number {
  switch (value.op) {
    case opBool:
    case opInt32:
    case opInt64:
    case opUint64:
      return wireVarint
    case opDouble:
      return wire64
    default:
      return value.schema.kind === 'list' && !value.schema.wrapped && value.items !== undefined ? wireTypeOf(value.items) : wireBytes
  }
}
