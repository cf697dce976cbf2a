/**
 * A type's schema, made ready for walking its objects: for each field the place it has in the order, what becomes of it
 * when it is empty, and a guess at the field that follows, which spares most look-ups.
 */
import type { FieldSchema, TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'

export type Kind = ValueSchema['kind']

// Constants of their own, not an object of them: a switch over these is as fast as one over literals.
export const opString = 0
export const opBool = 1
export const opInt32 = 2
export const opInt64 = 3
export const opUint64 = 4
export const opDouble = 5
export const opBytes = 6
export const opTime = 7
export const opMicroTime = 8
export const opDuration = 9
export const opQuantity = 10
export const opIntOrString = 11
export const opRawExtension = 12
export const opFieldsV1 = 13
export const opJson = 14
export const opAny = 15
export const opMessage = 16
export const opList = 17
export const opMap = 18
export const opSchemaOrArray = 19
export const opSchemaOrBool = 20
export const opSchemaOrStringArray = 21

const ops: Readonly<Record<Kind, number>> = {
  string: opString,
  bool: opBool,
  int32: opInt32,
  int64: opInt64,
  uint64: opUint64,
  double: opDouble,
  bytes: opBytes,
  time: opTime,
  microTime: opMicroTime,
  duration: opDuration,
  quantity: opQuantity,
  intOrString: opIntOrString,
  rawExtension: opRawExtension,
  fieldsV1: opFieldsV1,
  json: opJson,
  any: opAny,
  message: opMessage,
  list: opList,
  map: opMap,
  schemaOrArray: opSchemaOrArray,
  schemaOrBool: opSchemaOrBool,
  schemaOrStringArray: opSchemaOrStringArray,
}

export class ValuePlan {
  readonly kind: Kind
  /** The kind, to switch on. */
  readonly op: number
  readonly schema: ValueSchema
  /** What a list holds, or a map. */
  readonly items: ValuePlan | undefined
  /** The `message`, once somebody asked for it. */
  resolved: MessagePlan | undefined

  constructor(schema: ValueSchema) {
    this.kind = schema.kind
    this.op = ops[schema.kind]
    this.schema = schema
    this.items = schema.kind === 'list' ? new ValuePlan(schema.items) : schema.kind === 'map' ? new ValuePlan(schema.values) : undefined
    this.resolved = undefined
  }

  /** Of a message, or of the JSON schema that the value may be. */
  get message(): MessagePlan {
    if (this.resolved === undefined) {
      if (!('type' in this.schema)) throw new Error(`a ${this.schema.kind} has no fields`)
      this.resolved = planOf(this.schema.type)
    }
    return this.resolved
  }
}

export class FieldPlan {
  readonly name: string
  readonly schema: FieldSchema
  readonly order: number
  /** What it takes up in JSON beside its value: the name, its quotes, the colon, a comma. */
  readonly chars: number
  readonly value: ValuePlan
  readonly op: number
  /** Written whether set or not. */
  readonly always: 0 | 1
  /** Not written when it is zero or empty, as against absent. */
  readonly dropsZero: boolean
  /** A list, map or bytes that turn into null when they are empty. */
  readonly emptyIsNull: boolean
  /** The field that came after this one in the last object seen: objects of a type mostly look alike. */
  next: FieldPlan | undefined

  constructor(schema: FieldSchema, order: number) {
    this.name = internalized(schema.name)
    this.schema = schema
    this.order = order
    this.chars = schema.name.length + 4
    this.value = new ValuePlan(schema.value)
    this.op = this.value.op
    this.always = isAlwaysWritten(schema) ? 1 : 0
    this.dropsZero = !schema.value.pointer && this.always === 0
    this.emptyIsNull = schema.nullable && !schema.value.pointer
    this.next = undefined
  }
}

export class MessagePlan {
  readonly type: TypeSchema
  readonly fields: readonly FieldPlan[]
  readonly byName: ReadonlyMap<string, FieldPlan>
  readonly always: readonly FieldPlan[]
  readonly alwaysCount: number
  first: FieldPlan | undefined

  constructor(type: TypeSchema) {
    this.type = type
    this.fields = type.fields.map((field, order) => new FieldPlan(field, order))
    this.byName = new Map(this.fields.map((field) => [field.name, field]))
    this.always = this.fields.filter((field) => field.always === 1)
    this.alwaysCount = this.always.length
    this.first = this.fields[0]
  }
}

const plans = new WeakMap<TypeSchema, MessagePlan>()

export function planOf(type: TypeSchema): MessagePlan {
  const known = plans.get(type)
  if (known !== undefined) return known
  const plan = new MessagePlan(type)
  plans.set(type, plan)
  return plan
}

const structs: ReadonlySet<Kind> = new Set<Kind>([
  'message',
  'time',
  'microTime',
  'duration',
  'quantity',
  'intOrString',
  'rawExtension',
  'json',
  'schemaOrArray',
  'schemaOrBool',
  'schemaOrStringArray',
])

/** Go leaves out what is empty only if told to, and structs not even then. */
function isAlwaysWritten({ value, omitEmpty, omitZero, nullable }: FieldSchema): boolean {
  if (value.pointer) return nullable
  return structs.has(value.kind) ? !omitZero : !omitEmpty
}

/** Keys of objects are internalized strings; comparing those with each other is comparing addresses. */
function internalized(name: string): string {
  return Object.keys({ [name]: 0 })[0] ?? name
}
