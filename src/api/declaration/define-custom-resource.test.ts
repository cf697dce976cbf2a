import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CustomObjectOf, defineCustomResource, defineOlderVersion } from '#api/declaration/define-custom-resource.ts'
import { anyObject, boolean, choice, integer, list, map, nullable, object, optional, string } from '#api/declaration/schema.ts'

const Box = defineCustomResource({
  group: 'example.com',
  version: 'v2',
  kind: 'Box',
  shortNames: ['bx'],
  spec: object({
    size: choice(['small', 'large'], { default: 'small' }),
    parts: list(object({ name: string(), count: integer({ default: 1 }) }), { key: 'name' }),
    tags: optional(map(string())),
    owner: nullable(string()),
    template: optional(anyObject()),
    lid: object({ isOpen: boolean({ default: false }) }, { default: {} }),
  }),
  status: object({ weight: optional(integer()) }),
  olderVersions: {
    v1: defineOlderVersion({
      spec: object({ big: boolean() }),
      toStored: ({ spec }) => ({ spec: { size: spec.big ? 'large' : 'small', parts: [], owner: null } }),
      fromStored: ({ spec }) => ({ spec: { big: spec.size === 'large' } }),
    }),
    v0: defineOlderVersion({
      spec: object({ code: integer() }),
      toStored: ({ spec }) => ({ spec: { size: spec.code === 1 ? 'large' : 'small', parts: [], owner: null } }),
      fromStored: ({ spec }) => ({ spec: { code: spec.size === 'large' ? 1 : 0 } }),
    }),
  },
})
type Box = CustomObjectOf<typeof Box>

test('the definition follows from the declaration', () => {
  const { metadata, spec } = Box.definition
  assert.deepEqual(
    [metadata.name, spec.scope, spec.names],
    ['boxes.example.com', 'Namespaced', { kind: 'Box', plural: 'boxes', singular: 'box', listKind: 'BoxList', shortNames: ['bx'] }],
  )
  assert.deepEqual(
    spec.versions.map(({ name, storage, subresources }) => [name, storage, subresources]),
    [
      ['v2', true, { status: {} }],
      ['v1', false, undefined],
      ['v0', false, undefined],
    ],
  )
  assert.deepEqual(spec.versions[0]?.schema?.openAPIV3Schema?.properties?.['spec'], {
    type: 'object',
    required: ['parts', 'owner'],
    properties: {
      size: { type: 'string', enum: ['small', 'large'], default: 'small' },
      parts: {
        type: 'array',
        items: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, count: { type: 'integer', default: 1 } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
      tags: { type: 'object', additionalProperties: { type: 'string' } },
      owner: { type: 'string', nullable: true },
      template: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      lid: { type: 'object', properties: { isOpen: { type: 'boolean', default: false } }, default: {} },
    },
  })
})

test('types follow as well, and what is made has its defaults', () => {
  const box: Box = Box.make({ metadata: { name: 'a' }, spec: { parts: [{ name: 'p' }], owner: null } })
  assert.deepEqual(box, {
    apiVersion: 'example.com/v2',
    kind: 'Box',
    metadata: { name: 'a' },
    spec: { size: 'small', parts: [{ name: 'p', count: 1 }], owner: null, lid: { isOpen: false } },
  })
  const size: 'small' | 'large' = box.spec.size
  const count: number | undefined = box.spec.parts[0]?.count
  assert.deepEqual([size, count], ['small', 1])
  // @ts-expect-error: a size that is none
  Box.make({ metadata: {}, spec: { parts: [], owner: null, size: 'huge' } })
  // @ts-expect-error: parts are required
  Box.make({ metadata: {}, spec: { owner: null } })
  // @ts-expect-error: it may be absent
  assert.equal(((): Record<string, string> => box.spec.tags)(), undefined)
})

test('objects are converted by way of the stored version', () => {
  const old = { apiVersion: 'example.com/v1', kind: 'Box', metadata: { name: 'a', labels: { a: 'b' } }, spec: { big: true } }
  const { metadata } = old
  assert.deepEqual(Box.convert?.(old, 'example.com/v2'), {
    ...{ apiVersion: 'example.com/v2', kind: 'Box', metadata },
    spec: { size: 'large', parts: [], owner: null },
  })
  assert.deepEqual(Box.convert?.(old, 'example.com/v0'), { apiVersion: 'example.com/v0', kind: 'Box', metadata, spec: { code: 1 } })
  assert.throws(() => Box.convert?.(old, 'example.com/v7'), /there is no version v7/)
})
