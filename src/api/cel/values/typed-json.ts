/** JSON whose types are declared: what is a timestamp there is one here. */
import { durationFrom, timestampFrom } from '#api/cel/standard/conversions.ts'
import type { CelType } from '#api/cel/types/cel-type.ts'
import type { StructType } from '#api/cel/types/declarations.ts'
import { JsonList, JsonMap, valueOfJson } from '#api/cel/values/json.ts'
import type { Value } from '#api/cel/values/value.ts'

export type StructLookup = (name: string) => StructType | undefined

/** What is not as declared is taken for what it is. */
export function typedValue(json: unknown, type: CelType, structs: StructLookup): Value {
  if (typeof json === 'string') {
    if (type.kind === 'timestamp') return timestampFrom(json)
    if (type.kind === 'duration') return durationFrom(json)
    if (type.kind === 'bytes') return new Uint8Array(Buffer.from(json, 'base64'))
    return json
  }
  if (typeof json === 'number') return type.kind === 'double' ? json : valueOfJson(json)
  if (Array.isArray(json) && type.kind === 'list') return new JsonList(json, (element) => typedValue(element, type.element, structs))
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return valueOfJson(json)
  if (type.kind === 'map') return new JsonMap(json as Record<string, unknown>, (value) => typedValue(value, type.value, structs))
  const struct = type.kind === 'struct' ? structs(type.name) : undefined
  return struct === undefined ? valueOfJson(json) : new TypedMap(json as Record<string, unknown>, struct, structs)
}

class TypedMap extends JsonMap {
  readonly #struct: StructType
  readonly #structs: StructLookup
  readonly #raw: Readonly<Record<string, unknown>>

  constructor(json: Readonly<Record<string, unknown>>, struct: StructType, structs: StructLookup) {
    super(json)
    this.#raw = json
    this.#struct = struct
    this.#structs = structs
  }
  override get(key: Value): Value | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#raw, key) || this.#raw[key] === undefined) return undefined
    return typedValue(this.#raw[key], this.#struct.field(key) ?? { kind: 'dyn' }, this.#structs)
  }
  override get type(): CelType {
    return { kind: 'struct', name: this.#struct.name }
  }
}
