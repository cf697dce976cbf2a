/** Requests with one string as long as a client may make it: every field of every kind that is a text, and every key of a map. */
import { builtInKinds } from '#api/kinds.ts'
import { findSchema } from '#api/schema/schema.ts'
import type { LeafKind, TypeSchema, ValueSchema } from '#api/schema/type-schema.ts'
import { soundObjects } from '../fuzz/sound-objects.ts'
import type { LongField } from './long-fields.ts'

/** What is repeated, and what stands at the end. */
const shapes = {
  letters: ['a'],
  zeros: ['0', 'x'],
  blanks: [' ', 'x'],
  'line breaks': ['\n', 'x'],
  slashes: ['/', 'x'],
  dots: ['.'],
  dashes: ['-', '_'],
  stars: ['*', 'x'],
  colons: [':'],
  commas: ['a,'],
  pairs: ['a=b,', '!'],
  percents: ['%'],
  quotes: ['"'],
  'control characters': ['\u0001'],
  surrogates: ['😀'],
  braces: ['{{'],
  brackets: ['['],
  parentheses: ['('],
  references: ['$('],
  templates: ['{.a}'],
  calls: ['a.b().'],
  lengths: ['1s'],
  'PEM beginnings': ['-----BEGIN A-----\n'],
  'PEM blocks': ['-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n'],
} satisfies Record<string, readonly [unit: string, end?: string]>

export type Shape = keyof typeof shapes
export const shapeNames = Object.keys(shapes) as Shape[]

/** About so many bytes of JSON. */
export function shaped(shape: Shape, sizeBytes: number): string {
  const [unit, end = ''] = shapes[shape] as readonly [string, string?]
  const unitBytes = Buffer.byteLength(JSON.stringify(unit)) - 2
  return unit.repeat(Math.max(1, Math.floor(sizeBytes / unitBytes))) + end
}

export type LongString = LongField<Shape>

const texts: ReadonlySet<string> = new Set<LeafKind>(['string', 'bytes', 'time', 'microTime', 'duration', 'quantity', 'intOrString'])

/** Deeper ones are parts of types that stand elsewhere as well. */
const deepest = 8

export function longStrings(): LongString[] {
  const found: LongString[] = []
  for (const { group, version, kind, schema } of builtInKinds) {
    const apiVersion = group === '' ? version : `${group}/${version}`
    const type = schema === '' ? undefined : findSchema(schema)
    if (type === undefined) continue
    const sound = () => ({ apiVersion, kind, metadata: {}, ...structuredClone(soundObjects[`${apiVersion} ${kind}`] ?? {}) })
    for (const { path, owner, value } of fieldsOf(type, [], new Set()))
      found.push({
        apiVersion,
        kind,
        path,
        type: owner,
        mergeKey: undefined,
        sound,
        value: (count, shape) => longValue(value, count, shape),
      })
  }
  return found
}

type Place = { path: string[]; owner: string; value: ValueSchema }

/** A type that lies in itself is walked once. */
function* fieldsOf(type: TypeSchema, path: string[], within: ReadonlySet<string>): Generator<Place> {
  if (path.length > deepest || within.has(type.name)) return
  const inside = new Set([...within, type.name])
  for (const field of type.fields) {
    // What an object is decides who reads the rest.
    if (path.length === 0 && (field.name === 'apiVersion' || field.name === 'kind')) continue
    yield* valuesOf(field.value, [...path, field.name], `${type.name}.${field.name}`, inside)
  }
}

function* valuesOf(value: ValueSchema, path: string[], owner: string, within: ReadonlySet<string>): Generator<Place> {
  if (texts.has(value.kind)) yield { path, owner, value }
  else if (value.kind === 'message') yield* fieldsOf(value.type, path, within)
  else if (value.kind === 'list') yield* valuesOf(value.items, [...path, '0'], owner, within)
  else if (value.kind === 'map') {
    yield { path, owner: `${owner}, its keys`, value }
    yield* valuesOf(value.values, [...path, 'k'], owner, within)
  } else if (value.kind === 'schemaOrArray' || value.kind === 'schemaOrStringArray' || value.kind === 'schemaOrBool') {
    yield* fieldsOf(value.type, path, within)
  }
}

function longValue(value: ValueSchema, count: number, shape: Shape): unknown {
  if (value.kind === 'map') return { [shaped(shape, count)]: ordinary(value.values) }
  if (value.kind === 'bytes') return Buffer.from(shaped(shape, (count * 3) / 4)).toString('base64')
  return shaped(shape, count)
}

function ordinary({ kind }: ValueSchema): unknown {
  if (kind === 'list') return []
  if (kind === 'message' || kind === 'map' || kind === 'rawExtension') return {}
  if (kind === 'bool') return true
  if (kind === 'int32' || kind === 'int64' || kind === 'uint64' || kind === 'double') return 1
  return kind === 'quantity' ? '1' : kind === 'bytes' ? 'AAAA' : 'a'
}
