/**
 * Brings an object into the shape it would have after a passage through Go's structs: fields in the order of the struct,
 * empty ones gone or written out as the struct's tags say, times, quantities and base64 in their one form, maps sorted.
 *
 * This is the fast walk, for objects that hold nothing out of the ordinary: it gives up (`unusual`) at the first
 * unknown field, wrong type or odd value, and leaves those to the exact decoder. It changes objects in place where it can.
 */

import { canonicalQuantity } from '#api/meta/quantity.ts'
import { formatDuration, parseDuration } from '#base/duration.ts'
import { canonicalTime } from './go-time.ts'
import { setOwn } from './own-key.ts'
import {
  type FieldPlan,
  type MessagePlan,
  opAny,
  opBool,
  opBytes,
  opDouble,
  opDuration,
  opFieldsV1,
  opInt32,
  opInt64,
  opIntOrString,
  opJson,
  opList,
  opMap,
  opMessage,
  opMicroTime,
  opQuantity,
  opRawExtension,
  opSchemaOrArray,
  opSchemaOrBool,
  opSchemaOrStringArray,
  opString,
  opTime,
  opUint64,
  type ValuePlan,
} from './plan.ts'
import { zeroField, zeroValue } from './zero.ts'

export type JsonObject = Record<string, unknown>

export const unusual: unique symbol = Symbol('unusual')
type Unusual = typeof unusual

/**
 * What was met since the counters were set to 0: keys, and how many characters it all would take in JSON without spaces
 * and escapes. A text of just that length hides nothing from JSON.parse: no key that comes twice, no `1.0` for a 1.
 * Free-form parts count only if `countFreeForm` says so.
 */
export const walked = { keys: 0, chars: 0, integerLists: 0, countFreeForm: false, keepsEmpty: false }

/** Levels of free-form JSON that are walked; deeper ones are for the exact decoder to validate. */
const maxFreeFormDepth = 200
const maxInt32 = 2147483647

/** May throw the errors of quantities, times and durations. */
export function walkMessage(object: unknown, plan: MessagePlan): JsonObject | Unusual {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return unusual
  const fields = object as JsonObject
  let previous: FieldPlan | undefined
  let order = -1
  let always = 0
  let rebuild = false
  let keys = 0
  let chars = 2
  for (const key in fields) {
    let field = previous === undefined ? plan.first : previous.next
    if (field === undefined || field.name !== key) {
      field = plan.byName.get(key)
      if (field === undefined) return unusual
      if (previous === undefined) plan.first = field
      else previous.next = field
    }
    previous = field
    keys++
    chars += field.chars
    always += field.always
    if (field.order < order) rebuild = true
    order = field.order
    const value = fields[key]
    if (typeof value === 'string' && field.op === opString) {
      chars += value.length + 2
      if (value.length !== 0 || !field.dropsZero) continue
      fields[key] = undefined
      rebuild = true
      continue
    }
    let walkedValue: unknown
    if (value === null || value === undefined) {
      chars += 4
      walkedValue = walkNull(field)
    } else {
      walkedValue = walkField(value, field)
      if (walkedValue === value) continue
      if (walkedValue === unusual) return unusual
    }
    if (walkedValue === undefined) rebuild = true
    fields[key] = walkedValue
  }
  walked.keys += keys
  walked.chars += keys === 0 ? chars : chars - 1
  if (always !== plan.alwaysCount) {
    for (const field of plan.always) {
      if (fields[field.name] !== undefined) continue
      fields[field.name] = zeroField(field)
      if (field.order < order) rebuild = true
      order = field.order
    }
  }
  return rebuild ? inOrder(fields, plan) : fields
}

/** Without the fields that are undefined. */
function inOrder(object: JsonObject, plan: MessagePlan): JsonObject {
  const present: FieldPlan[] = []
  for (const key in object) {
    const field = plan.byName.get(key)
    if (field === undefined || object[key] === undefined) continue
    let at = present.length
    // Nearly in order already, so that a sort by insertion does little.
    for (; at > 0; at--) {
      const before = present[at - 1]
      if (before === undefined || before.order < field.order) break
      present[at] = before
    }
    present[at] = field
  }
  const ordered: JsonObject = {}
  for (const field of present) ordered[field.name] = object[field.name]
  return ordered
}

/** Undefined where null means absent. */
function walkNull(field: FieldPlan): unknown {
  return field.always === 1 ? zeroField(field) : undefined
}

/** The value in its canonical form, or undefined where that is not to be written. */
function walkField(value: NonNullable<unknown>, field: FieldPlan): unknown {
  const { value: plan } = field
  switch (field.op) {
    case opMessage:
      return walkMessage(value, plan.resolved ?? plan.message)
    case opBool:
      if (typeof value !== 'boolean') return unusual
      walked.chars += value ? 4 : 5
      return !value && field.dropsZero ? undefined : value
    case opInt32:
    case opInt64:
    case opUint64:
    case opDouble: {
      const number = walkNumber(value, field.op)
      return number === 0 && field.dropsZero ? undefined : number
    }
    case opList: {
      const list = walkList(value, plan)
      return list !== unusual && list.length === 0 ? whenEmpty(list, field) : list
    }
    case opMap:
      return walkMap(value, plan) ?? whenEmpty(value, field)
    default: {
      const result = walkValue(value, plan)
      if (result === '') return field.op === opBytes ? whenEmpty(result, field) : result
      return result === null ? walkNull(field) : result
    }
  }
}

function whenEmpty(value: unknown, field: FieldPlan): unknown {
  // Until it is stored, a list that was sent empty is told from one that was not sent: its sender owns it.
  if (field.emptyIsNull) return walked.keepsEmpty ? value : null
  return field.dropsZero ? undefined : value
}

/** Items of lists, values of maps, and the rarer kinds of fields. */
function walkValue(value: unknown, plan: ValuePlan): unknown {
  if (typeof value === 'string') {
    walked.chars += value.length + 2
    return walkText(value, plan)
  }
  if (value === null) {
    walked.chars += 4
    return zeroValue(plan) === null ? value : unusual
  }
  switch (plan.op) {
    case opBool:
      walked.chars += value === true ? 4 : 5
      return typeof value === 'boolean' ? value : unusual
    case opInt32:
    case opInt64:
    case opUint64:
    case opDouble:
      return walkNumber(value, plan.op)
    case opIntOrString:
      return walkNumber(value, opInt32)
    case opMessage:
      return walkMessage(value, plan.resolved ?? plan.message)
    case opList:
      return walkList(value, plan)
    case opMap:
      return walkMap(value, plan) ?? value
    case opSchemaOrArray:
    case opSchemaOrBool:
    case opSchemaOrStringArray:
      return walkSchemaOr(value, plan)
    case opRawExtension:
    case opFieldsV1:
    case opJson:
    case opAny:
      return !walked.countFreeForm || countKeys(value, 0) ? value : unusual
    default:
      return unusual
  }
}

function walkText(text: string, plan: ValuePlan): unknown {
  switch (plan.op) {
    case opString:
    case opIntOrString:
    case opRawExtension:
    case opFieldsV1:
    case opJson:
    case opAny:
      return text
    case opQuantity:
      return canonicalQuantity(text)
    case opTime:
      return canonicalTime(text, 'seconds')
    case opMicroTime:
      return canonicalTime(text, 'micros')
    case opDuration:
      return formatDuration(parseDuration(text))
    case opBytes:
      return isCanonicalBase64(text) ? text : unusual
    default:
      return unusual
  }
}

function walkNumber(value: unknown, op: number): number | bigint | Unusual {
  if (typeof value !== 'number') return typeof value === 'bigint' && op !== opInt32 && op !== opDouble ? value : unusual
  walked.chars += digitsOf(value)
  if (op === opDouble) return value
  // Beyond safe integers two texts may have become one number: the exact decoder reads the text.
  if (!Number.isSafeInteger(value)) return unusual
  if (op === opInt32 ? value > maxInt32 || value < -maxInt32 - 1 : op === opUint64 && value < 0) return unusual
  // Makes a plain zero of a negative one.
  return value + 0
}

function isCanonicalBase64(text: string): boolean {
  return text === '' || Buffer.from(text, 'base64').toString('base64') === text
}

function digitsOf(value: number): number {
  if (!Number.isInteger(value)) return String(value).length
  if (value < 0) return 1 + digitsOf(-value)
  if (value < 10) return 1
  if (value < 100) return 2
  if (value < 1000) return 3
  return value < 10000 ? 4 : String(value).length
}

function walkList(value: unknown, plan: ValuePlan): unknown[] | Unusual {
  if (!Array.isArray(value)) return unusual
  const items = plan.items as ValuePlan
  walked.chars += value.length === 0 ? 2 : value.length + 1
  const message = items.op === opMessage ? (items.resolved ?? items.message) : undefined
  if (items.op === opInt32 || items.op === opInt64) walked.integerLists++
  for (let index = 0; index < value.length; index++) {
    const item = value[index]
    const walkedItem = message === undefined ? walkValue(item, items) : walkMessage(item, message)
    if (walkedItem === item) continue
    if (walkedItem === unusual) return unusual
    value[index] = walkedItem
  }
  return value
}

/** Undefined for an empty map. */
function walkMap(value: unknown, plan: ValuePlan): JsonObject | Unusual | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return unusual
  const map = value as JsonObject
  const values = plan.items as ValuePlan
  let keys = 0
  let chars = 2
  let last = ''
  let sorted = true
  for (const key in map) {
    keys++
    chars += key.length + 4
    if (key < last) sorted = false
    last = key
    const item = map[key]
    if (typeof item === 'string' && values.op === opString) {
      chars += item.length + 2
      continue
    }
    const walkedItem = walkValue(item, values)
    if (walkedItem === item) continue
    if (walkedItem === unusual) return unusual
    map[key] = walkedItem
  }
  walked.keys += keys
  walked.chars += keys === 0 ? chars : chars - 1
  if (keys === 0) return undefined
  return sorted ? map : sortedByKey(map)
}

export function sortedByKey(map: JsonObject): JsonObject {
  const result: JsonObject = {}
  for (const key of Object.keys(map).sort()) setOwn(result, key, map[key])
  return result
}

function walkSchemaOr(value: unknown, plan: ValuePlan): unknown {
  if (typeof value === 'boolean') return plan.kind === 'schemaOrBool' ? value : unusual
  if (!Array.isArray(value)) return walkMessage(value, plan.message)
  // What upstream's types make of empty lists and of lists of the wrong kind, the exact decoder knows.
  if (plan.kind === 'schemaOrBool' || value.length === 0) return unusual
  if (plan.kind === 'schemaOrStringArray') return value.every((item) => typeof item === 'string') ? value : unusual
  for (let index = 0; index < value.length; index++) {
    const walkedItem = walkMessage(value[index], plan.message)
    if (walkedItem === unusual) return unusual
    value[index] = walkedItem
  }
  return value
}

/** False where it is too deep, or holds an integer that a number cannot. */
function countKeys(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return countScalar(value)
  if (depth > maxFreeFormDepth) return false
  if (Array.isArray(value)) {
    walked.chars += value.length === 0 ? 2 : value.length + 1
    return value.every((item) => countKeys(item, depth + 1))
  }
  const map = value as JsonObject
  let keys = 0
  let chars = 2
  for (const key in map) {
    keys++
    chars += (isItemKey(key) ? escapedLength(key) : key.length) + 4
    if (!countKeys(map[key], depth + 1)) return false
  }
  walked.keys += keys
  walked.chars += keys === 0 ? chars : chars - 1
  return true
}

function countScalar(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      walked.chars += value.length + 2
      return true
    case 'number':
      walked.chars += digitsOf(value)
      return Number.isSafeInteger(value) || !Number.isInteger(value)
    case 'boolean':
      walked.chars += value ? 4 : 5
      return true
    default:
      walked.chars += 4
      return true
  }
}

/** Of managed fields: `k:{"name":"app"}`. The one place where keys are escaped every day. */
function isItemKey(key: string): boolean {
  return key.charCodeAt(0) === 0x6b && key.charCodeAt(1) === 0x3a
}

function escapedLength(key: string): number {
  let length = key.length
  for (let at = key.indexOf('"'); at >= 0; at = key.indexOf('"', at + 1)) length++
  return length
}
