/** JSON as values, converted where it is looked at. */
import { CelList, CelMap, HashMap, Optional, Timestamp, TypeValue, Uint, type Value } from '#api/cel/values/value.ts'

export type JsonConverter = (json: unknown) => Value

/** Whole numbers are ints: JSON does not tell 1 from 1.0. */
export function valueOfJson(json: unknown): Value {
  switch (typeof json) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return json
    case 'number':
      return Number.isInteger(json) ? BigInt(json) : json
  }
  if (json === null || json === undefined) return null
  return Array.isArray(json) ? new JsonList(json) : new JsonMap(json as Record<string, unknown>)
}

export class JsonList extends CelList {
  readonly #json: readonly unknown[]
  readonly #convert: JsonConverter

  constructor(json: readonly unknown[], convert: JsonConverter = valueOfJson) {
    super()
    this.#json = json
    this.#convert = convert
  }
  get size(): number {
    return this.#json.length
  }
  at(index: number): Value {
    return this.#convert(this.#json[index])
  }
}

export class JsonMap extends CelMap {
  readonly #json: Readonly<Record<string, unknown>>
  readonly #convert: JsonConverter

  constructor(json: Readonly<Record<string, unknown>>, convert: JsonConverter = valueOfJson) {
    super()
    this.#json = json
    this.#convert = convert
  }
  get size(): number {
    return Object.keys(this.#json).length
  }
  get(key: Value): Value | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#json, key)) return undefined
    const json = this.#json[key]
    return json === undefined ? undefined : this.#convert(json)
  }
  keys(): Iterable<Value> {
    return Object.keys(this.#json)
  }
}

export function mapOfEntries(entries: Iterable<readonly [Value, Value]>): CelMap {
  const map = new HashMap()
  for (const [key, value] of entries) map.insert(key, value)
  return map
}

/** As JSON; undefined for what JSON cannot say. */
export function jsonOfValue(value: Value): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Uint) return Number(value.value)
  if (value instanceof CelList) return [...value].map(jsonOfValue)
  if (value instanceof CelMap)
    return Object.fromEntries([...value.keys()].map((key) => [keyText(key), jsonOfValue(value.get(key) as Value)]))
  if (value instanceof Timestamp) return new Date(Number(value.nanos / 1_000_000n)).toISOString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof Optional) return value.value === undefined ? undefined : jsonOfValue(value.value)
  return value instanceof TypeValue ? value.name : undefined
}

const keyText = (key: Value): string => (key instanceof Uint ? String(key.value) : String(key))
