/** The API as one model: what Go says of each field, joined with what the schema and the protobuf files say. */
import type { Facts, GoFieldFact, SchemaDefinition, Union } from './facts.ts'
import { type ApiPackage, apiPackage } from './packages.ts'

/** What a value is, seen through names and pointers. `message` is a type of the model; the others are leaves. */
export type Shape = { is: LeafKind } | { is: 'message'; type: TypeModel } | ListShape | { is: 'map'; keys: GoType; values: GoType }

/** In protobuf a `wrapped` list is a message with the items in it. */
type ListShape = { is: 'list'; items: GoType; wrapped?: boolean }

export type LeafKind =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'uint64'
  | 'double'
  | 'bytes'
  | 'time'
  | 'microTime'
  | 'duration'
  | 'quantity'
  | 'intOrString'
  | 'rawExtension'
  | 'fieldsV1'
  | 'json'
  | 'schemaOrArray'
  | 'schemaOrBool'
  | 'schemaOrStringArray'
  | 'any'

/** `spelling` is the name of a type that is more than its shape, as Go prints it: `v1.Protocol`, `v1.ResourceList`. */
export type GoType = { pointer: boolean; shape: Shape; spelling?: string }

export type FieldModel = {
  json: string
  go: string
  type: GoType
  omitEmpty: boolean
  omitZero: boolean
  required: boolean
  /** Written as null when it is empty or absent, and allowed to be. */
  nullable: boolean
  default?: unknown
  /** The default of its items or values. */
  itemsDefault?: unknown
  enum?: string[]
  listType?: string
  listMapKeys?: string[]
  mapType?: string
  patchStrategy?: string
  patchMergeKey?: string
  protobufNumber: number
  /** The embedded struct the field comes from, and that one's own protobuf number: the field's message is one deeper. */
  inlined: { type: TypeModel; protobufNumber: number }[]
}

export type TypeModel = {
  package: ApiPackage
  name: string
  /** `io.k8s.api.core.v1.Pod` */
  schemaName: string
  fields: FieldModel[]
  mapType?: string
  groupVersionKinds: { group: string; version: string; kind: string }[]
  unions: Union[]
  isKind: boolean
}

/** A name of one package that stands for a type of another. */
export type AliasModel = { package: ApiPackage; name: string; target: TypeModel }

export type Model = { types: TypeModel[]; aliases: AliasModel[] }

const leaves: Readonly<Record<string, LeafKind>> = {
  string: 'string',
  bool: 'bool',
  int: 'int64',
  int32: 'int32',
  int64: 'int64',
  uint32: 'int64',
  uint64: 'uint64',
  float64: 'double',
  '[]byte': 'bytes',
  'interface{}': 'any',
  'types.UID': 'string',
  'types.NodeName': 'string',
  'meta/v1 Time': 'time',
  'meta/v1 MicroTime': 'microTime',
  'meta/v1 Duration': 'duration',
  'meta/v1 FieldsV1': 'fieldsV1',
  'resource.Quantity': 'quantity',
  'resource.QuantityValue': 'quantity',
  'intstr.IntOrString': 'intOrString',
  'runtime.RawExtension': 'rawExtension',
  'runtime.Unknown': 'rawExtension',
  'apiextensions/v1 JSON': 'json',
  'apiextensions/v1beta1 JSON': 'json',
  'apiextensions/v1 JSONSchemaPropsOrArray': 'schemaOrArray',
  'apiextensions/v1beta1 JSONSchemaPropsOrArray': 'schemaOrArray',
  'apiextensions/v1 JSONSchemaPropsOrBool': 'schemaOrBool',
  'apiextensions/v1beta1 JSONSchemaPropsOrBool': 'schemaOrBool',
  'apiextensions/v1 JSONSchemaPropsOrStringArray': 'schemaOrStringArray',
  'apiextensions/v1beta1 JSONSchemaPropsOrStringArray': 'schemaOrStringArray',
}

/** Lists that the schema requires but validation lets be empty. */
const emptyThoughRequired = new Set(['CSINodeSpec.drivers', 'LimitRangeSpec.limits', 'EndpointSlice.endpoints', 'Table.columnDefinitions'])

/** In Go's source, what stands before the dot of a type from elsewhere. */
const importNames: Readonly<Record<string, string>> = {
  metav1: 'meta/v1',
  corev1: 'core/v1',
  apiv1: 'core/v1',
  batchv1: 'batch/v1',
  authenticationv1: 'authentication/v1',
  authnv1: 'authentication/v1',
  authorizationv1: 'authorization/v1',
}

export function buildModel(facts: Facts): Model {
  return new ModelBuilder(facts).build()
}

class ModelBuilder {
  readonly #facts: Facts
  readonly #underlying = new Map<string, string>()
  readonly #markers = new Map<string, string[]>()
  readonly #fields = new Map<string, GoFieldFact[]>()
  readonly #types = new Map<string, TypeModel>()

  constructor(facts: Facts) {
    this.#facts = facts
    for (const fact of facts.goTypes) {
      this.#underlying.set(`${fact.package} ${fact.type}`, fact.underlying)
      this.#markers.set(`${fact.package} ${fact.type}`, fact.markers)
    }
    for (const fact of facts.goFields) {
      const key = `${fact.package} ${fact.type}`
      const fields = this.#fields.get(key) ?? []
      fields.push(fact)
      this.#fields.set(key, fields)
    }
  }

  build(): Model {
    const aliases: AliasModel[] = []
    for (const { package: packageName, type } of this.#facts.goTypes) {
      const home = apiPackage(packageName)
      if (home === undefined || leaves[`${packageName} ${type}`] !== undefined || type === 'InternalEvent') continue
      const resolved = this.#resolve(type, packageName)
      if (resolved.shape.is !== 'message') continue
      const target = resolved.shape.type
      if (target.package.name !== packageName) aliases.push({ package: home, name: type, target })
    }
    return { types: [...this.#types.values()].sort((a, b) => (a.schemaName < b.schemaName ? -1 : 1)), aliases }
  }

  #resolve(goType: string, from: string): GoType {
    if (goType.startsWith('*')) {
      const inner = this.#resolve(goType.slice(1), from)
      return { ...inner, pointer: true }
    }
    const leaf = leaves[goType]
    if (leaf !== undefined) return { pointer: false, shape: { is: leaf }, ...(goType.startsWith('types.') ? { spelling: goType } : {}) }
    if (goType.startsWith('[]')) {
      const items = this.#resolve(goType.slice(2), from)
      return { pointer: false, shape: { is: 'list', items } }
    }
    const map = /^map\[([^\]]+)\](.+)$/.exec(goType)
    if (map !== null) {
      const keys = this.#resolve(map[1] ?? '', from)
      const values = this.#resolve(map[2] ?? '', from)
      return { pointer: false, shape: { is: 'map', keys, values } }
    }
    return this.#resolveNamed(goType, from)
  }

  #resolveNamed(goType: string, from: string): GoType {
    const [home, name] = this.#locate(goType, from)
    const key = `${home} ${name}`
    const leaf = leaves[key]
    if (leaf !== undefined) return { pointer: false, shape: { is: leaf } }
    const underlying = this.#underlying.get(key)
    if (underlying === undefined) throw new Error(`${from} uses ${goType}, of which nothing is known`)
    if (underlying === 'struct') return { pointer: false, shape: { is: 'message', type: this.#type(home, name) } }
    const { shape, pointer } = this.#resolve(underlying, home)
    if (shape.is === 'message') return { pointer, shape: { is: 'message', type: this.#renamed(shape.type, home, name) } }
    if (shape.is === 'list' && this.#markers.get(key)?.includes('protobuf.nullable=true') === true) shape.wrapped = true
    return { pointer, shape, spelling: `${home.split('/').at(-1)}.${name}` }
  }

  /** A type that Go takes over from another package may have a name of its own in the schema. */
  #renamed(type: TypeModel, packageName: string, name: string): TypeModel {
    const home = apiPackage(packageName)
    if (home === undefined) return type
    const schemaName = `${home.schemaPrefix}.${name}`
    if (schemaName === type.schemaName || this.#facts.schema[schemaName] === undefined) return type
    const key = `${packageName} ${name}`
    const renamed = this.#types.get(key) ?? { ...type, package: home, name, schemaName }
    this.#types.set(key, renamed)
    return renamed
  }

  #locate(goType: string, from: string): [string, string] {
    const dot = goType.indexOf('.')
    if (dot < 0) return [from, goType]
    const prefix = goType.slice(0, dot)
    const name = goType.slice(dot + 1)
    const family = from.split('/')[0]
    const homes = importNames[prefix] ?? [
      `core/${prefix}`,
      `meta/${prefix}`,
      `${family}/${prefix}`,
      `authentication/${prefix}`,
      `coordination/${prefix}`,
    ]
    for (const home of [homes].flat()) if (this.#underlying.has(`${home} ${name}`)) return [home, name]
    throw new Error(`${from} uses ${goType}, which is in none of ${[homes].flat().join(', ')}`)
  }

  #type(packageName: string, name: string): TypeModel {
    const key = `${packageName} ${name}`
    const known = this.#types.get(key)
    if (known !== undefined) return known
    const home = apiPackage(packageName)
    if (home === undefined) throw new Error(`${key} is of no package of the API`)
    const schemaName = `${home.schemaPrefix}.${name}`
    const definition = this.#facts.schema[schemaName]
    const facts = this.#fields.get(key) ?? []
    const type: TypeModel = {
      package: home,
      name,
      schemaName,
      fields: [],
      groupVersionKinds: definition?.['x-kubernetes-group-version-kind'] ?? [],
      unions: definition?.['x-kubernetes-unions'] ?? [],
      isKind: facts.some(isTypeMeta),
    }
    // Versions that are served no more are kinds all the same.
    if (type.isKind && type.groupVersionKinds.length === 0)
      type.groupVersionKinds = [{ group: home.group, version: home.version, kind: name }]
    const mapType =
      definition?.['x-kubernetes-map-type'] ?? (this.#markers.get(key)?.includes('structType=atomic') === true ? 'atomic' : undefined)
    if (mapType !== undefined) type.mapType = mapType
    this.#types.set(key, type)
    // Filled in afterwards: types may hold themselves.
    type.fields = facts.sort((a, b) => a.order - b.order).flatMap((fact) => this.#fieldsOf(fact, type, definition))
    return type
  }

  #fieldsOf(fact: GoFieldFact, owner: TypeModel, definition: SchemaDefinition | undefined): FieldModel[] {
    if (isTypeMeta(fact)) return ['kind', 'apiVersion'].map((json) => typeMetaField(json))
    if (fact.jsonName === '-') return []
    const type = this.#resolve(fact.goType, fact.package)
    if (fact.jsonOptions.includes('inline')) {
      if (type.shape.is !== 'message') throw new Error(`${owner.schemaName} inlines ${fact.goType}, which is no struct`)
      const inlined = { type: type.shape.type, protobufNumber: fact.protobufNumber }
      return type.shape.type.fields.map((field) => ({
        ...field,
        required: definition?.required?.includes(field.json) ?? field.required,
        inlined: [inlined, ...field.inlined],
      }))
    }
    if (fact.jsonName === '') return []
    return [this.#field(fact, type, owner, definition)]
  }

  #field(fact: GoFieldFact, type: GoType, owner: TypeModel, definition: SchemaDefinition | undefined): FieldModel {
    const property = definition?.properties?.[fact.jsonName]
    const omitEmpty = fact.jsonOptions.includes('omitempty')
    const optional = fact.markers.includes('optional')
    const required = definition === undefined ? !omitEmpty && !optional : (definition.required?.includes(fact.jsonName) ?? false)
    const field: FieldModel = {
      json: fact.jsonName,
      go: fact.goField === '(embedded)' ? fact.goType.replace(/^.*\./, '') : fact.goField,
      type,
      omitEmpty,
      omitZero: fact.jsonOptions.includes('omitzero'),
      required,
      nullable: false,
      protobufNumber: fact.protobufNumber,
      inlined: [],
    }
    field.nullable = isNullable(field) && (!required || emptyThoughRequired.has(`${owner.name}.${fact.jsonName}`))
    const marker = (name: string): string[] =>
      fact.markers.flatMap((each) => (each.startsWith(`${name}=`) ? [each.slice(name.length + 1)] : []))
    assignDefined(field, 'default', property?.default)
    assignDefined(field, 'itemsDefault', (property?.items ?? property?.additionalProperties)?.default)
    assignDefined(field, 'enum', property?.enum ?? property?.items?.enum)
    assignDefined(field, 'listType', property?.['x-kubernetes-list-type'] ?? marker('listType')[0])
    const listMapKeys = property?.['x-kubernetes-list-map-keys'] ?? marker('listMapKey')
    if (listMapKeys.length > 0) field.listMapKeys = listMapKeys
    assignDefined(field, 'mapType', property?.['x-kubernetes-map-type'] ?? marker('mapType')[0] ?? marker('structType')[0])
    if (fact.patchStrategy !== '') field.patchStrategy = fact.patchStrategy
    if (fact.patchMergeKey !== '') field.patchMergeKey = fact.patchMergeKey
    return field
  }
}

/** Without omitempty Go writes null for a nil list, map or pointer, and for a time that was never set even with it. */
function isNullable({ type, omitEmpty, omitZero }: FieldModel): boolean {
  if (type.shape.is === 'time' || type.shape.is === 'microTime') return type.pointer ? !omitEmpty : !omitZero
  return !omitEmpty && (type.pointer || ['list', 'map', 'bytes'].includes(type.shape.is))
}

function assignDefined<K extends keyof FieldModel>(field: FieldModel, key: K, value: FieldModel[K] | undefined): void {
  if (value !== undefined) field[key] = value
}

function isTypeMeta(fact: GoFieldFact): boolean {
  return fact.goField === '(embedded)' && /(^|\.)TypeMeta$/.test(fact.goType) && fact.jsonOptions.includes('inline')
}

function typeMetaField(json: string): FieldModel {
  return {
    json,
    go: json === 'kind' ? 'Kind' : 'APIVersion',
    type: { pointer: false, shape: { is: 'string' } },
    omitEmpty: true,
    omitZero: false,
    required: false,
    nullable: false,
    protobufNumber: 0,
    inlined: [],
  }
}
