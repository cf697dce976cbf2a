/** Values of CEL's conformance cases, as they are written in JSON. */

import { parseTimestamp } from '#api/cel/standard/time-texts.ts'
import type { CelType } from '#api/cel/types/cel-type.ts'
import {
  ArrayList,
  CelList,
  CelMap,
  Duration,
  HashMap,
  nameOfType,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from '#api/cel/values/value.ts'
import { parseDuration } from '#base/duration.ts'

export type JsonValue = {
  nullValue?: unknown
  boolValue?: boolean
  int64Value?: string
  uint64Value?: string
  doubleValue?: number | string
  stringValue?: string
  bytesValue?: string
  listValue?: { values?: JsonValue[] }
  mapValue?: { entries?: { key: JsonValue; value: JsonValue }[] }
  typeValue?: string
  objectValue?: { '@type': string; value?: string }
}

/** Undefined for what only protobuf has. */
export function valueFrom(json: JsonValue): Value | undefined {
  if ('nullValue' in json) return null
  if (json.boolValue !== undefined) return json.boolValue
  if (json.int64Value !== undefined) return BigInt(json.int64Value)
  if (json.uint64Value !== undefined) return new Uint(BigInt(json.uint64Value))
  if (json.doubleValue !== undefined) return Number(json.doubleValue)
  if (json.stringValue !== undefined) return json.stringValue
  if (json.bytesValue !== undefined) return new Uint8Array(Buffer.from(json.bytesValue, 'base64'))
  if (json.typeValue !== undefined) return new TypeValue(typeNamed(json.typeValue))
  if (json.listValue !== undefined) {
    const values = (json.listValue.values ?? []).map(valueFrom)
    return values.includes(undefined) ? undefined : new ArrayList(values as Value[])
  }
  if (json.mapValue !== undefined) return mapFrom(json.mapValue.entries ?? [])
  const { '@type': type, value = '' } = json.objectValue ?? { '@type': '' }
  if (type.endsWith('google.protobuf.Timestamp')) return new Timestamp(parseTimestamp(value) ?? 0n)
  if (type.endsWith('google.protobuf.Duration')) return new Duration(parseDuration(value))
  return undefined
}

function mapFrom(entries: readonly { key: JsonValue; value: JsonValue }[]): Value | undefined {
  const map = new HashMap()
  for (const { key, value } of entries) {
    const [name, content] = [valueFrom(key), valueFrom(value)]
    if (name === undefined || content === undefined) return undefined
    map.insert(name, content)
  }
  return map
}

const simple = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'dyn'] as const

function typeNamed(name: string): CelType {
  const found = simple.find((kind) => kind === name)
  if (found !== undefined) return { kind: found }
  if (name === 'null_type') return { kind: 'null' }
  if (name === 'list') return { kind: 'list', element: { kind: 'dyn' } }
  if (name === 'map') return { kind: 'map', key: { kind: 'dyn' }, value: { kind: 'dyn' } }
  if (name === 'type') return { kind: 'type' }
  if (name === 'google.protobuf.Timestamp') return { kind: 'timestamp' }
  if (name === 'google.protobuf.Duration') return { kind: 'duration' }
  return { kind: 'opaque', name, parameters: [] }
}

/** With the kind of every number, so that 1, 1u and 1.0 differ. */
export function shown(value: Value): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'bigint') return `${value}`
  if (typeof value === 'number') return `double(${Object.is(value, -0) ? '-0' : value})`
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof Uint) return `${value.value}u`
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString('hex')}`
  if (value instanceof CelList) return `[${[...value].map(shown).join(', ')}]`
  if (value instanceof CelMap)
    return `{${[...value.keys()]
      .map((key) => `${shown(key)}: ${shown(value.get(key) as Value)}`)
      .toSorted()
      .join(', ')}}`
  if (value instanceof Timestamp) return `timestamp(${value.nanos})`
  if (value instanceof Duration) return `duration(${value.nanos})`
  if (value instanceof TypeValue) return `type(${value.name})`
  if (value instanceof Optional) return value.value === undefined ? 'none' : `optional(${shown(value.value)})`
  return nameOfType(value.type)
}
