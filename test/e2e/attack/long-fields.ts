/** Requests whose lists and maps are as long as a client may make them: every such field of every kind, found by walking the schema. */
import { findSchema, schemaNameOf } from '#api/schema/schema.ts'
import type { TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'
import { soundObjects } from '../fuzz/sound-objects.ts'

export type Variant = 'equal' | 'different' | 'invalid'
export const variants: readonly Variant[] = ['equal', 'different', 'invalid']

/** A field that may be long, and how to fill it. */
export type LongField = { apiVersion: string; kind: string; path: readonly string[]; fill(count: number, variant: Variant): object }

/** Deeper ones are parts of types that stand elsewhere as well. */
const deepest = 7

export function longFields(): LongField[] {
  const found: LongField[] = []
  for (const [key, sound] of Object.entries(soundObjects)) {
    const [apiVersion = '', kind = ''] = key.split(' ')
    const [version = '', group = ''] = apiVersion.split('/').reverse()
    const name = schemaNameOf({ group, version, kind })
    const type = name === undefined ? undefined : findSchema(name)
    if (type === undefined) continue
    for (const { path, value } of longValues(type, [], new Set())) {
      const body = (count: number, variant: Variant) =>
        withValue({ apiVersion, kind, metadata: {}, ...structuredClone(sound) }, path, longValue(value, count, variant))
      found.push({ apiVersion, kind, path, fill: body })
    }
  }
  return found
}

type LongPlace = { path: string[]; value: ValueSchema }

/** A type that lies in itself is walked once. */
function* longValues(type: TypeSchema, path: string[], within: ReadonlySet<string>): Generator<LongPlace> {
  if (path.length > deepest || within.has(type.name)) return
  const inside = new Set([...within, type.name])
  for (const field of type.fields) {
    if (path.length === 0 && field.name === 'status') continue
    yield* valuesIn(field.value, [...path, field.name], inside)
  }
}

function* valuesIn(value: ValueSchema, path: string[], within: ReadonlySet<string>): Generator<LongPlace> {
  if (value.kind === 'list') {
    yield { path, value }
    yield* valuesIn(value.items, [...path, '0'], within)
  } else if (value.kind === 'map') {
    yield { path, value }
    yield* valuesIn(value.values, [...path, 'k'], within)
  } else if (value.kind === 'message') yield* longValues(value.type, path, within)
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
              .map((field) => [field.name, field.enum?.[0] ?? sample(field.value, index, variant, depth - 1)]),
          )
    default:
      return { a: index }
  }
}

/** Makes the way there where the object has none. */
function withValue(object: object, path: readonly string[], value: unknown): object {
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
