/** Requests whose lists and maps are as long as a client may make them: every such field of every kind, found by walking the schema. */
import { builtInKinds } from '#api/kinds.ts'
import { findSchema } from '#api/schema/schema.ts'
import type { FieldSchema, TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'
import { soundObjects } from '../fuzz/sound-objects.ts'

export type Variant = 'equal' | 'different' | 'invalid'
export const variants: readonly Variant[] = ['equal', 'different', 'invalid']

/** A field that may be long, and how to fill it. */
export type LongField<V extends string = Variant> = {
  apiVersion: string
  kind: string
  path: readonly string[]
  /** The same for the same field of the same type, wherever it stands. */
  type: string
  /** What lists of it are merged by. */
  mergeKey: string | undefined
  /** A sound object without anything long. */
  sound(): FieldObject
  value(count: number, variant: V): unknown
}

export type FieldObject = { apiVersion: string; kind: string; metadata: Record<string, unknown> } & Record<string, unknown>

/** Deeper ones are parts of types that stand elsewhere as well. */
const deepest = 7

export function longFields(): LongField[] {
  const found: LongField[] = []
  for (const definition of builtInKinds) {
    const { group, version, kind } = definition
    const apiVersion = group === '' ? version : `${group}/${version}`
    const type = definition.schema === '' ? undefined : findSchema(definition.schema)
    if (type === undefined) continue
    const sound = () => ({ apiVersion, kind, metadata: {}, ...structuredClone(soundObjects[`${apiVersion} ${kind}`] ?? {}) })
    for (const { path, value, owner, mergeKey } of longValues(type, [], new Set())) {
      const long = (count: number, variant: Variant) => longValue(value, count, variant)
      found.push({ apiVersion, kind, path, type: owner, mergeKey, sound, value: long })
    }
  }
  return found
}

type LongPlace = { path: string[]; value: ValueSchema; owner: string; mergeKey: string | undefined }

/** A type that lies in itself is walked once. */
function* longValues(type: TypeSchema, path: string[], within: ReadonlySet<string>): Generator<LongPlace> {
  if (path.length > deepest || within.has(type.name)) return
  const inside = new Set([...within, type.name])
  for (const field of type.fields) {
    const owner = { owner: `${type.name}.${field.name}`, mergeKey: field.patchMergeKey }
    for (const place of valuesIn(field.value, [...path, field.name], inside)) yield place.owner === '' ? { ...place, ...owner } : place
  }
}

function* valuesIn(value: ValueSchema, path: string[], within: ReadonlySet<string>): Generator<LongPlace> {
  if (value.kind === 'list') {
    yield { path, value, owner: '', mergeKey: undefined }
    yield* valuesIn(value.items, [...path, '0'], within)
  } else if (value.kind === 'map') {
    yield { path, value, owner: '', mergeKey: undefined }
    yield* valuesIn(value.values, [...path, 'k'], within)
  } else if (value.kind === 'message') yield* longValues(value.type, path, within)
  else if (value.kind === 'schemaOrArray' || value.kind === 'schemaOrStringArray') {
    const items: ValueSchema = { ...value, type: value.type, kind: value.kind === 'schemaOrArray' ? 'message' : 'string' }
    yield { path, value: { ...value, kind: 'list', items, wrapped: false }, owner: '', mergeKey: undefined }
  }
}

function longValue(value: ValueSchema, count: number, variant: Variant): unknown {
  if (value.kind === 'map') {
    // Keys are never equal.
    return Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        variant === 'invalid' ? `/${index}//` : `k${index}`,
        sample(value.values, index, variant, 2),
      ]),
    )
  }
  if (value.kind !== 'list') throw new Error('neither a list nor a map')
  return Array.from({ length: count }, (_, index) => sample(value.items, variant === 'different' ? index : 0, variant, 2))
}

/** Something of that type, told apart by the number. */
function sample(value: ValueSchema, index: number, variant: Variant, depth: number): unknown {
  switch (value.kind) {
    case 'string':
      return variant === 'invalid' ? `~!${index}` : `v${index}`
    case 'bool':
      return true
    case 'int32':
    case 'int64':
    case 'uint64':
    case 'double':
      return variant === 'invalid' ? -1 - index : 1 + index
    case 'intOrString':
      return 1 + index
    case 'quantity':
      return variant === 'invalid' ? '-1' : `${1 + index}`
    case 'time':
      return '2026-01-01T00:00:00Z'
    case 'microTime':
      return '2026-01-01T00:00:00.000000Z'
    case 'duration':
      return '1s'
    case 'bytes':
      return 'AAAA'
    case 'list':
      return depth === 0 ? [] : [sample(value.items, index, variant, depth - 1)]
    case 'map':
      return depth === 0 ? {} : { [`k${index}`]: sample(value.values, index, variant, depth - 1) }
    case 'message':
      return depth === 0
        ? {}
        : Object.fromEntries(
            value.type.fields
              .filter(({ value: each }) => each.kind !== 'message' || depth > 1)
              .map((field) => [field.name, oneOf(field) ?? sample(field.value, index, variant, depth - 1)]),
          )
    default:
      return { a: index }
  }
}

/** What such a field may say; it may be a list of what is told apart. */
function oneOf({ enum: allowed, value }: FieldSchema): unknown {
  const [first] = allowed ?? []
  return first === undefined || value.kind !== 'list' ? first : [first]
}

/** Makes the way there where the object has none. */
export function withValue(object: object, path: readonly string[], value: unknown): object {
  let here = object as Record<string, unknown>
  for (const [index, part] of path.entries()) {
    if (index === path.length - 1) here[part] = value
    else {
      const next = path[index + 1]
      const there = here[part]
      if (there === null || typeof there !== 'object') here[part] = next === '0' ? [{}] : {}
      here = here[part] as Record<string, unknown>
    }
  }
  return object
}
