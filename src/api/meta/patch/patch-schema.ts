/** What a strategic merge patch asks of the schema: the type of a field, and how patches of it merge. */
import { quoted } from '#api/meta/check.ts'
import type { FieldSchema, TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'
import { PatchError } from './patch-error.ts'

export type MergeStrategy = '' | 'merge' | 'replace'

export type PatchField = {
  value: ValueSchema
  strategy: MergeStrategy
  /** Fields that the patch does not list are to be cleared: one of a union's members replaces the others. */
  retainKeys: boolean
  mergeKey: string
}

/** A whole object, as if it were some object's field. */
export function asValue(type: TypeSchema): ValueSchema {
  return { kind: 'message', type, pointer: false, goType: type.goName }
}

/** The field of an object that is merged into; `owner` is the object's own type. */
export function objectField(owner: ValueSchema, key: string): PatchField {
  if (owner.kind !== 'message') {
    const kind = goKind(owner)
    if (kind === 'struct') throw noField(owner.goType.slice(owner.goType.lastIndexOf('.') + 1), key)
    throw new PatchError('internal', `merging an object in json but data type is not struct, instead is: ${kind}`)
  }
  const field = owner.type.fieldsByName.get(key)
  if (field === undefined) throw noField(owner.type.goName, key)
  return { value: field.value, mergeKey: field.patchMergeKey ?? '', ...strategiesOf(field) }
}

/** The same for a list: `value` is the type of the items. */
export function listField(owner: ValueSchema, key: string): PatchField {
  const field = objectField(owner, key)
  const { value } = field
  if (value.kind !== 'list') throw new PatchError('internal', `expected slice or array type, but got: ${goKind(owner)}`)
  if (value.items.kind === 'list') throw new PatchError('internal', 'unexpected slice of slice')
  return { ...field, value: value.items }
}

function strategiesOf(field: FieldSchema): { strategy: MergeStrategy; retainKeys: boolean } {
  const strategies = field.patchStrategy?.split(',') ?? []
  const strategy = strategies.includes('merge') ? 'merge' : strategies.includes('replace') ? 'replace' : ''
  return { strategy, retainKeys: strategies.includes('retainKeys') }
}

function noField(struct: string, key: string): PatchError {
  return new PatchError('internal', `unable to find api field in struct ${struct} for the json field ${quoted(key)}`)
}

const kindsOfLeaves: Readonly<Partial<Record<ValueSchema['kind'], string>>> = {
  string: 'string',
  bool: 'bool',
  int32: 'int32',
  int64: 'int64',
  uint64: 'uint64',
  double: 'float64',
  bytes: 'slice',
  any: 'interface',
}

/** Go's reflect.Kind of the type: what errors call it. */
export function goKind(value: ValueSchema): string {
  if (value.kind === 'list') return 'slice'
  if (value.kind === 'map') return 'map'
  if (value.kind === 'message') return 'struct'
  return kindsOfLeaves[value.kind] ?? 'struct'
}
