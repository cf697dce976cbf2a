/** What is known of a type of the API: its fields in Go's order, and of each field all that codecs, patches and documents ask. */

export type LeafKind =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'uint64'
  | 'double'
  /** Base64 in JSON. */
  | 'bytes'
  | 'time'
  | 'microTime'
  | 'duration'
  | 'quantity'
  | 'intOrString'
  | 'rawExtension'
  | 'fieldsV1'
  /** Any JSON, kept as bytes in protobuf. */
  | 'json'
  | 'any'

type ValueTraits = {
  /** A pointer in Go: zero and absent are two things. */
  readonly pointer: boolean
  /** The type as Go prints it, without the pointer: `[]v1.Container`. */
  readonly goType: string
}

export type LeafSchema = ValueTraits & { readonly kind: LeafKind }
/** `type` is resolved on first use. */
export type MessageSchema = ValueTraits & { readonly kind: 'message'; readonly type: TypeSchema }
/** One JSON schema (`type`), or what the kind says. */
export type SchemaOrSchema = ValueTraits & {
  readonly kind: 'schemaOrArray' | 'schemaOrBool' | 'schemaOrStringArray'
  readonly type: TypeSchema
}
export type ListSchema = ValueTraits & {
  readonly kind: 'list'
  readonly items: ValueSchema /** A message of its own in protobuf. */
  readonly wrapped: boolean
}
export type MapSchema = ValueTraits & { readonly kind: 'map'; readonly values: ValueSchema }

export type ValueSchema = LeafSchema | MessageSchema | SchemaOrSchema | ListSchema | MapSchema

export type ListType = 'atomic' | 'set' | 'map'
export type MapType = 'atomic' | 'granular'

export type FieldSchema = {
  /** In JSON. */
  readonly name: string
  readonly goName: string
  readonly value: ValueSchema
  /** Left out when empty: `omitempty`, which structs ignore. */
  readonly omitEmpty: boolean
  /** Left out when zero, structs and times as well. */
  readonly omitZero: boolean
  readonly required: boolean
  /** A list or map that is written as null when it is empty. */
  readonly nullable: boolean
  /** As documents show it; `''`, `0` and `{}` say no more than that the field is no pointer. */
  readonly default?: unknown
  readonly itemsDefault?: unknown
  /** The values, of the items if it is a list. */
  readonly enum?: readonly string[]
  readonly listType?: ListType
  readonly listMapKeys?: readonly string[]
  readonly mapType?: MapType
  /** `merge`, `replace`, `retainKeys`, or two of them with a comma. */
  readonly patchStrategy?: string
  readonly patchMergeKey?: string
  /** 0 where protobuf does not carry the field. */
  readonly protobufNumber: number
  /** The structs Go embeds the field by, outermost first. In protobuf each is a message, in JSON none shows. */
  readonly inlined: readonly { readonly goName: string; readonly protobufNumber: number }[]
}

export type GroupVersionKind = { readonly group: string; readonly version: string; readonly kind: string }

export type Union = { readonly discriminator?: string; readonly 'fields-to-discriminateBy'?: Readonly<Record<string, string>> }

export type TypeSchema = {
  /** `io.k8s.api.core.v1.Pod` */
  readonly name: string
  /** `Pod` */
  readonly goName: string
  /** In the order of Go's struct, which is the order they are written in. */
  readonly fields: readonly FieldSchema[]
  readonly fieldsByName: ReadonlyMap<string, FieldSchema>
  readonly groupVersionKinds: readonly GroupVersionKind[]
  readonly mapType?: MapType
  readonly unions: readonly Union[]
}
