/** Values brought into the shape of a structural schema. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { DecodeError } from '#api/codec/decode-error.ts'
import { Check } from '#api/meta/check.ts'
import { coerceObject } from './coerce.ts'
import { dropNulls, fillDefaults } from './defaults.ts'
import { validateEmbedded } from './embedded-objects.ts'
import { validateUniqueItems } from './list-types.ts'
import { pruneObject } from './prune.ts'
import { type Fields, shapeOf } from './shape.ts'
import { sorted, sortedJson } from './sorted-json.ts'

const text: V1JSONSchemaProps = { type: 'string' }
const object = (properties: Record<string, V1JSONSchemaProps>, more: V1JSONSchemaProps = {}): V1JSONSchemaProps => ({
  type: 'object',
  properties,
  ...more,
})
const list = (items: V1JSONSchemaProps, more: V1JSONSchemaProps = {}): V1JSONSchemaProps => ({ type: 'array', items, ...more })

test('unknown fields go, and are told of in order', () => {
  const shape = shapeOf(
    object({
      spec: object({ a: text, list: list(object({ x: text })), map: { type: 'object', additionalProperties: object({ x: text }) } }),
    }),
  )
  const value = {
    kind: 'Widget',
    metadata: { name: 'n', anything: 1 },
    zoo: 1,
    spec: { a: 'b', gone: 1, list: [{ x: '1' }, { y: 2 }], map: { k: { x: '1', y: 2 } } },
  }
  const dropped: string[] = []
  pruneObject(value, shape, dropped)
  assert.deepEqual(dropped, ['spec.gone', 'spec.list[1].y', 'spec.map.k.y', 'zoo'])
  assert.deepEqual(value, {
    kind: 'Widget',
    metadata: { name: 'n', anything: 1 },
    spec: { a: 'b', list: [{ x: '1' }, {}], map: { k: { x: '1' } } },
  } as unknown as typeof value)
})

test('where unknown fields are preserved, what is declared below is pruned all the same', () => {
  const shape = shapeOf(object({ spec: object({ known: object({ x: text }) }, { 'x-kubernetes-preserve-unknown-fields': true }) }))
  const value = { spec: { any: { thing: 1 }, known: { x: 'a', y: 'b' } } }
  pruneObject(value, shape)
  assert.deepEqual(value, { spec: { any: { thing: 1 }, known: { x: 'a' } } } as unknown as typeof value)
})

test('defaults are filled in, and looked into', () => {
  const shape = shapeOf(
    object({
      spec: object({
        a: { ...text, default: 'x' },
        o: object({ b: { type: 'integer', default: 7 } }, { default: {} }),
        n: { ...text, nullable: true, default: 'n' },
      }),
    }),
  )
  const value = { spec: { a: null, n: null } }
  fillDefaults(value, shape)
  assert.deepEqual(value, { spec: { a: 'x', n: null, o: { b: 7 } } } as unknown as typeof value)
  const other: Fields = { spec: {} }
  fillDefaults(other, shape)
  ;((other['spec'] as Fields)['o'] as Fields)['b'] = 8
  const third: Fields = { spec: {} }
  fillDefaults(third, shape)
  assert.deepEqual(third, { spec: { a: 'x', n: 'n', o: { b: 7 } } })
})

test('nulls that nobody allows go, unless a default stands in for them', () => {
  const shape = shapeOf(object({ a: text, b: { ...text, nullable: true }, c: { ...text, default: 'x' }, l: list(object({ a: text })) }))
  const value = { a: null, b: null, c: null, l: [{ a: null }] }
  dropNulls(value, shape)
  assert.deepEqual(value, { b: null, c: null, l: [{}] } as unknown as typeof value)
})

test('metadata is read as that of any object', () => {
  const shape = shapeOf(object({}))
  const options = { dropsMalformed: false, prunes: true }
  const dropped: string[] = []
  const value: Fields = { metadata: { name: 'n', nope: 1, labels: { a: 'b' } } }
  coerceObject(value, shape, options, dropped)
  assert.deepEqual(dropped, ['metadata.nope'])
  assert.deepEqual(value, { metadata: { name: 'n', labels: { a: 'b' } } })
  assert.throws(() => coerceObject({ metadata: { labels: 'x' } }, shape, options), DecodeError)
  const stored: Fields = { metadata: { name: 'n', labels: 'x' } }
  coerceObject(stored, shape, { ...options, dropsMalformed: true })
  assert.deepEqual(stored, { metadata: { name: 'n' } })
})

test('an embedded object says what it is', () => {
  const shape = shapeOf(object({ e: object({}, { 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true }) }))
  const validate = (e: unknown) => {
    const check = new Check()
    validateEmbedded({ e }, shape, check)
    return check.errors.map(({ field, body }) => `${field}: ${body}`)
  }
  assert.deepEqual(validate({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } }), [])
  assert.deepEqual(validate({ kind: 'Pod' }), ['e.apiVersion: Required value'])
  assert.deepEqual(validate({ apiVersion: 'a/b/c', kind: 'Pod' }), [
    'e.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
  ])
})

test('sets and maps hold nothing twice, however many items there are', () => {
  const shape = shapeOf(
    object({
      set: list(text, { 'x-kubernetes-list-type': 'set' }),
      map: list(object({ k: text, v: text }), { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] }),
    }),
  )
  const check = new Check()
  validateUniqueItems({ set: ['a', 'b', 'a', 'a'], map: [{ k: '1', v: 'x' }, { k: '1' }, { v: 'y' }] }, shape, check)
  assert.deepEqual(
    check.errors.map(({ field, body }) => `${field}: ${body}`),
    ['set[2]: Duplicate value: "a"', 'map[1]: Duplicate value: {"k":"1"}'],
  )
  const many = new Check()
  validateUniqueItems({ set: Array.from({ length: 200_000 }, (_, index) => `item ${index}`) }, shape, many)
  assert.equal(many.failed, false)
})

test('what is in order is left alone', () => {
  const value = { a: 1, b: [{ c: 1, d: 2 }] }
  assert.equal(sorted(value), value)
  assert.equal(sortedJson({ b: [{ d: 1, c: 2 }], a: 1 }), '{"a":1,"b":[{"c":2,"d":1}]}')
})

test('a large schema makes a small shape: places that say the same are one value', () => {
  const shape = shapeOf(object(Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`f${index}`, text]))))
  assert.equal(new Set(shape.properties?.values()).size, 1)
})
