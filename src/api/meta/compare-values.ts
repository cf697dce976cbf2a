/** Comparers made from the schema, one for each type that is asked for. */
import { parseTime, type TimePrecision } from '#api/codec/go-time.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { compareQuantities, isQuantity } from '#api/meta/quantity.ts'
import type { LeafKind, SchemaOrSchema, TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'
import { parseDuration } from '#base/duration.ts'

type Compare = (one: unknown, other: unknown) => boolean
type Fields = { readonly [name: string]: unknown }

export function compareValues(value: ValueSchema): Compare {
  const present = comparePresent(value)
  const zero = zeroOf(value)
  return (one, other) => {
    if (one === other) return true
    if (!isNone(one) && !isNone(other)) return present(one, other)
    if (isNone(one) && isNone(other)) return true
    const given = one ?? other
    if (zero === 'empty') return isEmpty(given)
    return zero !== undefined && present(given, zero)
  }
}

const isNone = (value: unknown): value is undefined | null => value === undefined || value === null

function isEmpty(value: unknown): boolean {
  if (typeof value === 'string') return value === ''
  for (const key in value as object) if ((value as Fields)[key] !== undefined) return false
  return true
}

const zeros: Partial<Record<LeafKind, unknown>> = {
  ...{ string: '', bool: false, int32: 0, int64: 0, uint64: 0, double: 0 },
  ...{ quantity: '0', intOrString: 0, duration: '0s', bytes: 'empty' },
}

/** What absence is the same as; undefined for nothing else. */
function zeroOf({ kind, pointer }: ValueSchema): unknown {
  if (pointer) return undefined
  if (kind === 'list' || kind === 'map') return 'empty'
  return kind === 'message' ? {} : zeros[kind as LeafKind]
}

/** For values that are both there. */
function comparePresent(value: ValueSchema): Compare {
  switch (value.kind) {
    case 'message':
      return (one, other) => isFields(one) && isFields(other) && typeComparer(value.type)(one, other)
    case 'list':
      return listComparer(value.items)
    case 'map':
      return mapComparer(value.values)
    case 'quantity':
      return (one, other) => one === other || sameQuantity(String(one), String(other))
    case 'time':
      return (one, other) => one === other || sameTime(String(one), String(other), 'seconds')
    case 'microTime':
      return (one, other) => one === other || sameTime(String(one), String(other), 'micros')
    case 'duration':
      return (one, other) => one === other || sameDuration(String(one), String(other))
    case 'int32':
    case 'int64':
    case 'uint64':
    case 'double':
      // biome-ignore lint/suspicious/noDoubleEquals: large numbers are bigints, and may be compared with small ones
      return (one, other) => (one as number) == (other as number) || (Number.isNaN(one) && Number.isNaN(other))
    case 'schemaOrArray':
    case 'schemaOrBool':
    case 'schemaOrStringArray':
      return schemaOrComparer(value)
    default:
      return equalJson
  }
}

const comparers = new WeakMap<TypeSchema, Compare>()

function typeComparer(type: TypeSchema): Compare {
  const known = comparers.get(type)
  if (known !== undefined) return known
  const fields = new Map<string, Compare>()
  const sameField = (name: string, one: unknown, other: unknown): boolean => {
    if (one === other) return true
    let compare = fields.get(name)
    if (compare === undefined) {
      const field = type.fieldsByName.get(name)
      // What the type lacks was kept by somebody who had a reason.
      if (field === undefined) return equalJson(one ?? null, other ?? null)
      // Not before they are met: a type may hold itself.
      compare = compareValues(field.value)
      fields.set(name, compare)
    }
    return compare(one, other)
  }
  const compare = (one: unknown, other: unknown): boolean => {
    const [left, right] = [one as Fields, other as Fields]
    for (const name in left) if (!sameField(name, left[name], right[name])) return false
    for (const name in right) if (!(name in left) && !sameField(name, undefined, right[name])) return false
    return true
  }
  comparers.set(type, compare)
  return compare
}

function listComparer(items: ValueSchema): Compare {
  const sameItem = compareValues(items)
  return (one, other) => {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false
    for (let index = 0; index < one.length; index++) if (!sameItem(one[index], other[index])) return false
    return true
  }
}

/** A key that is there is not the same as one that is not, whatever its value. */
function mapComparer(values: ValueSchema): Compare {
  const sameValue = compareValues(values)
  return (one, other) => {
    if (!isFields(one) || !isFields(other)) return false
    let surplus = 0
    for (const key in one) {
      if (one[key] === undefined) continue
      if (!Object.hasOwn(other, key) || other[key] === undefined || !sameValue(one[key], other[key])) return false
      surplus++
    }
    for (const key in other) if (other[key] !== undefined) surplus--
    return surplus === 0
  }
}

function schemaOrComparer({ kind, type }: SchemaOrSchema): Compare {
  const sameSchema: Compare = (one, other) => typeComparer(type)(one, other)
  const item: ValueSchema = { kind: 'message', pointer: false, goType: '', type }
  const sameList = kind === 'schemaOrArray' ? listComparer(item) : equalJson
  return (one, other) => {
    if (isFields(one) && isFields(other)) return sameSchema(one, other)
    return Array.isArray(one) ? sameList(one, other) : one === other
  }
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

function sameQuantity(one: string, other: string): boolean {
  return isQuantity(one) && isQuantity(other) && compareQuantities(one, other) === 0
}

function sameTime(one: string, other: string, precision: TimePrecision): boolean {
  try {
    const [left, right] = [parseTime(one, precision), parseTime(other, precision)]
    return left.seconds === right.seconds && left.nanos === right.nanos
  } catch {
    return false
  }
}

function sameDuration(one: string, other: string): boolean {
  try {
    return parseDuration(one) === parseDuration(other)
  } catch {
    return false
  }
}
