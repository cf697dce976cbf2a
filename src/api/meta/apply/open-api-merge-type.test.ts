import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#api/meta/patch/json-value.ts'
import { compareObjects } from './compare.ts'
import { pathsOf, unionOf } from './field-set.ts'
import { fieldSetInSteps, fieldSetOf } from './field-set-of.ts'
import { customResourceType, type StructuralSchema } from './open-api-merge-type.ts'
import { printedPath } from './path-element.ts'
import { typeErrors, typeErrorsInSteps } from './type-check.ts'

const schema: StructuralSchema = {
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer' },
        tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'protocol'],
          items: {
            type: 'object',
            properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' }, name: { type: 'string' } },
          },
        },
        plain: { type: 'array', items: { type: 'object' } },
        whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: { type: 'string' } },
        map: { type: 'object', additionalProperties: { type: 'object', properties: { a: { type: 'string' } } } },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        port: { format: 'int-or-string' },
        template: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
      },
    },
  },
}
const type = customResourceType(schema)
const widget = (spec: object): JsonObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'w', finalizers: ['a/b'] },
  spec: spec as JsonObject,
})

const printed = (spec: object): string[] =>
  pathsOf(fieldSetOf(JSON.parse(JSON.stringify(widget(spec))), type))
    .map(printedPath)
    .filter((path) => path.startsWith('.spec'))

test('[SA13] the marks of a schema decide what is owned on its own', () => {
  const cases: [object, string[]][] = [
    [{ size: 1 }, ['.spec.size']],
    [{ tags: ['x'] }, ['.spec.tags[="x"]']],
    [{ ports: [{ port: 80 }] }, ['.spec.ports[port=80,protocol="TCP"]', '.spec.ports[port=80,protocol="TCP"].port']],
    [{ plain: [{ a: 1 }] }, ['.spec.plain']],
    [{ whole: { a: 'b' } }, ['.spec.whole']],
    [{ map: { k: { a: 'b' } } }, ['.spec.map.k', '.spec.map.k.a']],
    [{ free: { any: { thing: [1] } } }, ['.spec.free.any', '.spec.free.any.thing']],
    [{ port: 'http' }, ['.spec.port']],
    [{ template: { metadata: { labels: { a: 'b' } }, spec: {} } }, ['.spec.template.spec', '.spec.template.metadata.labels.a']],
    [{ map: {}, ports: [], size: null }, ['.spec.map', '.spec.size']],
  ]
  for (const [spec, expected] of cases) assert.deepEqual(printed(spec), expected, JSON.stringify(spec))
  assert.ok(pathsOf(fieldSetOf(widget({}), type)).some((path) => printedPath(path) === '.metadata.finalizers[="a/b"]'))
})

test('[SA14] a value of another type than the schema says is named', () => {
  const cases: [object, string | undefined][] = [
    [{ size: 'x' }, '.spec.size: expected numeric (int or float), got string'],
    [{ nope: 1 }, '.spec.nope: field not declared in schema'],
    [{ tags: [{}] }, ".spec.tags: element 0: associative list without keys has an element that's a map type"],
    [{ tags: ['a', 'a'] }, '.spec.tags: duplicate entries for key [="a"]'],
    [{ ports: [{}] }, undefined],
    [{ map: { k: { a: 1 } } }, '.spec.map.k.a: expected string, got &value.valueUnstructured{Value:1}'],
    [{ free: { x: { y: [1, 'a', null] } } }, undefined],
    [{ port: { a: 1 } }, undefined],
  ]
  for (const [spec, expected] of cases) assert.equal(typeErrors(widget(spec), type), expected, JSON.stringify(spec))
})

test('[SA14] a long list is looked at in steps, and its errors are told in order', () => {
  const tags = Array.from({ length: 5000 }, (_, index) => (index === 4000 ? 'x10' : `x${index}`))
  const steps = typeErrorsInSteps(widget({ size: 'x', tags }), type)
  let count = 1
  let step = steps.next()
  for (; !step.done; step = steps.next()) count++
  assert.equal(count, 6)
  assert.deepEqual(step.value?.split('\n'), [
    'errors:',
    '  .spec.size: expected numeric (int or float), got string',
    '  .spec.tags: duplicate entries for key [="x10"]',
  ])
})

test('the fields of a long list are the same when they are found in steps', () => {
  const tags = Array.from({ length: 5000 }, (_, index) => `x${index % 4500}`)
  const object = widget({ size: 1, tags, nothing: {} })
  const steps = fieldSetInSteps(object, type)
  let count = 1
  let step = steps.next()
  for (; !step.done; step = steps.next()) count++
  assert.equal(count, 5)
  assert.deepEqual(step.value, fieldSetOf(object, type))
})

test('unknown fields can be let in everywhere', () => {
  const open = customResourceType(schema, { preserveUnknownFields: true })
  assert.equal(typeErrors(widget({ nope: { a: [1] } }), open), undefined)
})

test('changes are told as upstream tells them', () => {
  const cases: [string, object, object, { added?: string[]; modified?: string[]; removed?: string[] }][] = [
    ['a scalar', { size: 1 }, { size: 2 }, { modified: ['.spec.size'] }],
    ['a field that comes', {}, { map: { k: { a: 'b' } } }, { added: ['.spec.map', '.spec.map.k', '.spec.map.k.a'] }],
    ['a field that goes', { tags: ['x'] }, {}, { removed: ['.spec.tags', '.spec.tags[="x"]'] }],
    ['an item', { tags: ['x'] }, { tags: ['y'] }, { added: ['.spec.tags[="y"]'], removed: ['.spec.tags[="x"]'] }],
    ['null for empty', { map: {} }, { map: null }, { modified: ['.spec.map'] }],
    ['an order', { tags: ['x', 'y'] }, { tags: ['y', 'x'] }, {}],
    [
      'a new default key',
      { ports: [{ port: 80 }] },
      { ports: [{ port: 80, protocol: 'TCP' }] },
      { added: ['.spec.ports[port=80,protocol="TCP"].protocol'] },
    ],
    [
      'duplicates that come',
      { ports: [{ port: 80 }] },
      { ports: [{ port: 80 }, { port: 80, name: 'x' }] },
      {
        added: ['.spec.ports[port=80,protocol="TCP"]'],
        removed: ['.spec.ports[port=80,protocol="TCP"]', '.spec.ports[port=80,protocol="TCP"].port'],
      },
    ],
    ['duplicates that change', { tags: ['x', 'x'] }, { tags: ['x', 'x', 'x'] }, { modified: ['.spec.tags[="x"]'] }],
    ['another form of a free value', { port: 80 }, { port: { a: 1 } }, { modified: ['.spec.port'], added: ['.spec.port.a'] }],
  ]
  for (const [name, before, after, expected] of cases) {
    const { added, modified, removed } = compareObjects(widget(before), widget(after), type)
    const shown = (set: typeof added): string[] => pathsOf(set).map(printedPath)
    assert.deepEqual(
      { added: shown(added), modified: shown(modified), removed: shown(removed) },
      { added: [], modified: [], removed: [], ...expected },
      name,
    )
    assert.equal(unionOf(added, added), added)
  }
})
