/** Reads one line of the generated schema; scripts/generate-api/write-schema.ts writes them. */
import { defined } from '#base/defined.ts'
import type { FieldSchema, LeafKind, ListType, MapType, SchemaOrSchema, TypeSchema, Union, ValueSchema } from './type-schema.ts'

type TypeTraits = { a?: string; k?: [string, string, string][]; m?: MapType; u?: Union[] }
type FieldTraits = {
  d?: unknown
  i?: unknown
  e?: string[]
  l?: ListType
  k?: string[]
  m?: MapType
  s?: string
  g?: string
  in?: [string, number][]
}
export type FieldRecord = [name: string, goName: string, type: string, flags: string, protobufNumber: number, traits?: FieldTraits]
type TypeRecord = [name: string, traits: TypeTraits, fields: FieldRecord[]]

const leafKinds: Readonly<Record<string, LeafKind>> = {
  s: 'string',
  b: 'bool',
  i: 'int32',
  l: 'int64',
  u: 'uint64',
  d: 'double',
  y: 'bytes',
  t: 'time',
  m: 'microTime',
  p: 'duration',
  q: 'quantity',
  o: 'intOrString',
  r: 'rawExtension',
  f: 'fieldsV1',
  j: 'json',
  x: 'any',
}

const schemaOrKinds: Readonly<Record<string, SchemaOrSchema['kind']>> = { A: 'schemaOrArray', B: 'schemaOrBool', S: 'schemaOrStringArray' }

/** Only leaves that are more to Go than their kind says. */
const goTypes: Partial<Record<LeafKind, string>> = {
  double: 'float64',
  bytes: '[]uint8',
  time: 'v1.Time',
  microTime: 'v1.MicroTime',
  duration: 'v1.Duration',
  quantity: 'resource.Quantity',
  intOrString: 'intstr.IntOrString',
  rawExtension: 'runtime.RawExtension',
  fieldsV1: 'v1.FieldsV1',
  json: 'v1.JSON',
  any: 'interface {}',
}

const goSuffixes = { message: '', schemaOrArray: 'OrArray', schemaOrBool: 'OrBool', schemaOrStringArray: 'OrStringArray' } as const

/** `group/version/kind` of the kinds a type stands for, without reading the rest of its line. */
export function kindsIn(line: string): string[] {
  const start = line.indexOf('",{"k":')
  if (start < 0) return []
  const traits = JSON.parse(line.slice(start + 2, line.indexOf('},[', start) + 1)) as TypeTraits
  return traits.k?.map((kind) => kind.join('/')) ?? []
}

export function readTypeRecord(line: string, schemaOf: (name: string) => TypeSchema): TypeSchema {
  const [name, traits, records] = JSON.parse(line) as TypeRecord
  if (traits.a !== undefined) return schemaOf(traits.a)
  const dot = name.lastIndexOf('.')
  const fields = records.map((record) => readField(record, name.slice(0, dot), schemaOf))
  return {
    name,
    goName: name.slice(dot + 1),
    fields,
    fieldsByName: new Map(fields.map((field) => [field.name, field])),
    groupVersionKinds: traits.k?.map(([group, version, kind]) => ({ group, version, kind })) ?? [],
    unions: traits.u ?? [],
    ...defined({ mapType: traits.m }),
  }
}

const notInlined: FieldSchema['inlined'] = []

export function readField(record: FieldRecord, home: string, schemaOf: (name: string) => TypeSchema): FieldSchema {
  const [name, goName, type, flags, protobufNumber, traits = {}] = record
  return {
    name,
    goName,
    value: new TypeReader(type, home, schemaOf).read(),
    omitEmpty: flags.includes('o'),
    omitZero: flags.includes('z'),
    required: flags.includes('r'),
    nullable: flags.includes('n'),
    protobufNumber,
    inlined: traits.in?.map(([goName, protobufNumber]) => ({ goName, protobufNumber })) ?? notInlined,
    ...defined({
      default: traits.d,
      itemsDefault: traits.i,
      enum: traits.e,
      listType: traits.l,
      listMapKeys: traits.k,
      mapType: traits.m,
      patchStrategy: traits.s,
      patchMergeKey: traits.g,
    }),
  }
}

/** `*` pointer, `[` list, `]` wrapped list, `{` map, `@` message, a letter for a leaf; `<…>` gives the name in Go. */
class TypeReader {
  readonly #code: string
  readonly #home: string
  readonly #schemaOf: (name: string) => TypeSchema
  #at = 0

  constructor(code: string, home: string, schemaOf: (name: string) => TypeSchema) {
    this.#code = code
    this.#home = home
    this.#schemaOf = schemaOf
  }

  read(): ValueSchema {
    const pointer = this.#take('*')
    const goName = this.#goName()
    const code = this.#code.charAt(this.#at++)
    if (code === '[' || code === ']') {
      const items = this.read()
      return { kind: 'list', pointer, items, wrapped: code === ']', goType: goName ?? `[]${goTypeOf(items)}` }
    }
    if (code === '{') {
      const keys = this.#goName() ?? 'string'
      const values = this.read()
      return { kind: 'map', pointer, values, goType: goName ?? `map[${keys}]${goTypeOf(values)}` }
    }
    if (code === '@') return this.#message('message', pointer, this.#code.slice(this.#at))
    const schemaOr = schemaOrKinds[code]
    if (schemaOr !== undefined) return this.#message(schemaOr, pointer, '.JSONSchemaProps')
    const kind = leafKinds[code]
    if (kind === undefined) throw new Error(`the schema's type code ${this.#code} is not understood at ${code}`)
    return { kind, pointer, goType: goName ?? goTypes[kind] ?? kind }
  }

  #message(kind: 'message' | SchemaOrSchema['kind'], pointer: boolean, reference: string): ValueSchema {
    const name = reference.startsWith('.') ? this.#home + reference : reference
    const [version = '', goName = ''] = name.split('.').slice(-2)
    return new MessageValue(kind, pointer, `${version}.${goName}${goSuffixes[kind]}`, name, this.#schemaOf) as ValueSchema
  }

  #take(char: string): boolean {
    if (this.#code.charAt(this.#at) !== char) return false
    this.#at++
    return true
  }

  #goName(): string | undefined {
    if (!this.#take('<')) return undefined
    const end = this.#code.indexOf('>', this.#at)
    const name = this.#code.slice(this.#at, end)
    this.#at = end + 1
    return name
  }
}

/** A class, of which there are thousands of objects: a getter that an object has of its own takes several times the memory. */
class MessageValue<Kind extends 'message' | SchemaOrSchema['kind']> {
  readonly kind: Kind
  readonly pointer: boolean
  readonly goType: string
  readonly #name: string
  readonly #schemaOf: (name: string) => TypeSchema
  #type: TypeSchema | undefined

  constructor(kind: Kind, pointer: boolean, goType: string, name: string, schemaOf: (name: string) => TypeSchema) {
    this.kind = kind
    this.pointer = pointer
    this.goType = goType
    this.#name = name
    this.#schemaOf = schemaOf
  }

  get type(): TypeSchema {
    this.#type ??= this.#schemaOf(this.#name)
    return this.#type
  }
}

function goTypeOf(value: ValueSchema): string {
  return value.pointer ? `*${value.goType}` : value.goType
}
