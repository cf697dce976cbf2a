/** A custom resource, or a part of one, as the rules of its schema see it. */
import { isSchema, itemSchema } from '#api/apiextensions/v1/schema/walk.ts'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { withMetadata } from '#api/cel/schema/schema-type.ts'
import { durationFrom, timestampFrom } from '#api/cel/standard/conversions.ts'
import { isEqual } from '#api/cel/values/compare.ts'
import { escapedName, unescapedName } from '#api/cel/values/escaped-names.ts'
import { JsonMap, valueOfJson } from '#api/cel/values/json.ts'
import { ArrayList, type CelList, CelMap, type Value } from '#api/cel/values/value.ts'

type Schema = V1JSONSchemaProps

export function schemaValue(json: unknown, schema: Schema, isResource = schema['x-kubernetes-embedded-resource'] === true): Value {
  if (json === null || json === undefined) return null
  if (schema['x-kubernetes-int-or-string']) return valueOfJson(json)
  if (typeof json === 'string') return textValue(json, schema)
  if (typeof json === 'number') return schema.type === 'number' ? json : valueOfJson(json)
  if (Array.isArray(json)) return listValue(json, schema)
  if (typeof json !== 'object') return valueOfJson(json)
  const { additionalProperties } = schema
  const fields = json as Record<string, unknown>
  if (isSchema(additionalProperties)) return new JsonMap(fields, (value) => schemaValue(value, additionalProperties))
  return new SchemaObject(fields, isResource ? withMetadata(schema) : schema)
}

function textValue(text: string, { format }: Schema): Value {
  switch (format) {
    case 'byte':
      return new Uint8Array(Buffer.from(text, 'base64'))
    case 'duration':
      return durationFrom(text)
    case 'date':
      return timestampFrom(`${text}T00:00:00Z`)
    case 'date-time':
      return timestampFrom(text)
    default:
      return text
  }
}

class SchemaObject extends CelMap {
  readonly #json: Readonly<Record<string, unknown>>
  readonly #schema: Schema

  constructor(json: Readonly<Record<string, unknown>>, schema: Schema) {
    super()
    this.#json = json
    this.#schema = schema
  }
  get size(): number {
    return [...this.keys()].length
  }
  get(key: Value): Value | undefined {
    const name = typeof key === 'string' ? unescapedName(key) : undefined
    if (name === undefined || !Object.hasOwn(this.#json, name)) return undefined
    const schema = this.#schema.properties?.[name]
    const json = this.#json[name]
    return schema === undefined || json === undefined || (json === null && !schema.nullable) ? undefined : schemaValue(json, schema)
  }
  *keys(): Iterable<Value> {
    for (const name of Object.keys(this.#json)) {
      const escaped = this.#schema.properties?.[name] === undefined ? undefined : escapedName(name)
      if (escaped !== undefined) yield escaped
    }
  }
}

function listValue(json: readonly unknown[], schema: Schema): CelList {
  const items = itemSchema(schema) ?? {}
  const list = json.map((element) => schemaValue(element, items))
  switch (schema['x-kubernetes-list-type']) {
    case 'set':
      return new UnorderedList(list, isEqual)
    case 'map': {
      const keys = (schema['x-kubernetes-list-map-keys'] ?? []).map((key) => escapedName(key) ?? key)
      return new UnorderedList(list, (one, other) => sameKeys(one, other, keys))
    }
    default:
      return new ArrayList(list)
  }
}

function sameKeys(one: Value, other: Value, keys: readonly string[]): boolean {
  if (!(one instanceof CelMap) || !(other instanceof CelMap)) return false
  return keys.every((key) => {
    const [first, second] = [one.get(key), other.get(key)]
    return first === undefined || second === undefined ? first === second : isEqual(first, second)
  })
}

/** A set, or a map in the form of a list: elements are known by what they are, not by where. */
class UnorderedList extends ArrayList {
  readonly #isSameElement: (one: Value, other: Value) => boolean

  constructor(values: Value[], isSameElement: (one: Value, other: Value) => boolean) {
    super(values)
    this.#isSameElement = isSameElement
  }
  override isSame(other: CelList): boolean {
    const others = [...other]
    return this.values.every((element) => {
      const twin = others.find((each) => this.#isSameElement(element, each))
      return twin !== undefined && isEqual(element, twin)
    })
  }
  /** What is in both comes from the other one, at its old place. */
  override merged(other: CelList): CelList {
    const result = [...this.values]
    for (const element of other) {
      const place = result.findIndex((each) => this.#isSameElement(each, element))
      if (place < 0) result.push(element)
      else result[place] = element
    }
    return new UnorderedList(result, this.#isSameElement)
  }
}
