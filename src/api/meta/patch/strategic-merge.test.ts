import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepFreeze } from '#api/meta/deep-copy.ts'
import { schemaOf } from '#api/schema/schema.ts'
import { applyPatch } from './apply-patch.ts'
import type { JsonObject } from './json-value.ts'

const podSpec = schemaOf('io.k8s.api.core.v1.PodSpec')
const objectMeta = schemaOf('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta')
const deploymentSpec = schemaOf('io.k8s.api.apps.v1.DeploymentSpec')
const budgetSpec = schemaOf('io.k8s.api.policy.v1.PodDisruptionBudgetSpec')

type Case = [name: string, current: JsonObject, patch: JsonObject, expected: JsonObject]

function expectAll(cases: readonly Case[], schema: typeof podSpec): void {
  for (const [name, current, patch, expected] of cases) {
    assert.deepEqual(applyPatch('strategic', deepFreeze(current), deepFreeze(patch), schema), expected, name)
  }
}

const two = {
  containers: [
    { name: 'a', image: 'a:1' },
    { name: 'b', image: 'b:1' },
  ],
}

test('lists with a merge key are merged item by item', () => {
  expectAll(
    [
      [
        'changes an item',
        two,
        { containers: [{ name: 'b', image: 'b:2' }] },
        {
          containers: [
            { name: 'a', image: 'a:1' },
            { name: 'b', image: 'b:2' },
          ],
        },
      ],
      ['adds an item', two, { containers: [{ name: 'c', image: 'c' }] }, { containers: [{ name: 'c', image: 'c' }, ...two.containers] }],
      [
        'adds to a field of an item',
        two,
        { containers: [{ name: 'a', env: [{ name: 'X', value: '1' }] }] },
        {
          containers: [
            { name: 'a', image: 'a:1', env: [{ name: 'X', value: '1' }] },
            { name: 'b', image: 'b:1' },
          ],
        },
      ],
      [
        'removes a field of an item',
        two,
        { containers: [{ name: 'a', image: null }] },
        { containers: [{ name: 'a' }, { name: 'b', image: 'b:1' }] },
      ],
      ['deletes an item', two, { containers: [{ name: 'a', $patch: 'delete' }] }, { containers: [{ name: 'b', image: 'b:1' }] }],
      ['deletes what is not there', two, { containers: [{ name: 'x', $patch: 'delete' }] }, two],
      ['replaces the list', two, { containers: [{ name: 'c' }, { $patch: 'replace' }] }, { containers: [{ name: 'c' }] }],
      ['empties the list', two, { containers: [{ $patch: 'replace' }] }, { containers: [] }],
      [
        'an absent list is taken as it is, without directives and nulls',
        {},
        {
          containers: [
            { name: 'a', image: null },
            { name: 'b', $patch: 'delete' },
          ],
        },
        { containers: [{ name: 'a' }] },
      ],
      ['null removes the list', two, { containers: null }, {}],
      [
        'numbers are keys too',
        { containers: [{ name: 'a', ports: [{ containerPort: 80 }] }] },
        {
          containers: [{ name: 'a', ports: [{ containerPort: 443 }, { containerPort: 80, name: 'x' }] }],
        },
        { containers: [{ name: 'a', ports: [{ containerPort: 443 }, { containerPort: 80, name: 'x' }] }] },
      ],
    ],
    podSpec,
  )
})

test('other lists are replaced', () => {
  expectAll(
    [
      ['tolerations', { tolerations: [{ key: 'a' }] }, { tolerations: [{ key: 'b' }] }, { tolerations: [{ key: 'b' }] }],
      [
        'args',
        { containers: [{ name: 'a', args: ['x', 'y'] }] },
        { containers: [{ name: 'a', args: ['z'] }] },
        { containers: [{ name: 'a', args: ['z'] }] },
      ],
    ],
    podSpec,
  )
})

test('merged lists of scalars are sets', () => {
  expectAll(
    [
      ['adds', { finalizers: ['a', 'b'] }, { finalizers: ['c', 'a'] }, { finalizers: ['c', 'a', 'b'] }],
      ['deletes', { finalizers: ['a', 'b', 'c'] }, { '$deleteFromPrimitiveList/finalizers': ['b'] }, { finalizers: ['a', 'c'] }],
      ['deletes from an absent list', {}, { '$deleteFromPrimitiveList/finalizers': ['b'] }, {}],
      [
        'deletes and orders',
        { finalizers: ['a', 'b', 'c'] },
        {
          '$deleteFromPrimitiveList/finalizers': ['b'],
          '$setElementOrder/finalizers': ['c', 'a'],
        },
        { finalizers: ['c', 'a'] },
      ],
      ['maps of scalars merge by key', { labels: { a: '1', b: '2' } }, { labels: { b: null, c: '3' } }, { labels: { a: '1', c: '3' } }],
    ],
    objectMeta,
  )
})

test('an order that the patch prescribes is kept, and what only the server has stays where it was', () => {
  const names = (...each: string[]): JsonObject => ({ containers: each.map((name) => ({ name })) })
  const order = (...each: string[]): JsonObject => ({ '$setElementOrder/containers': each.map((name) => ({ name })) })
  expectAll(
    [
      ['reorders', names('a', 'b', 'c'), order('c', 'b', 'a'), names('c', 'b', 'a')],
      ['adds in place', names('a', 'c'), { ...names('b'), ...order('a', 'b', 'c') }, names('a', 'b', 'c')],
      ['keeps what the server added', names('a', 'x', 'b'), order('b', 'a'), names('x', 'b', 'a')],
      ['keeps the place of what the server added', names('x', 'a', 'b'), order('a', 'b'), names('x', 'a', 'b')],
      ['of an absent list nothing', {}, order('a'), {}],
      [
        'deletes on the way',
        names('a', 'b', 'c'),
        {
          containers: [{ name: 'b', $patch: 'delete' }],
          ...order('c', 'a'),
        },
        names('c', 'a'),
      ],
    ],
    podSpec,
  )
})

test('objects can be replaced or emptied, and unions cleared of their other members', () => {
  expectAll(
    [
      [
        'replaces an object',
        { securityContext: { fsGroup: 1 } },
        { securityContext: { $patch: 'replace', runAsUser: 2 } },
        { securityContext: { runAsUser: 2 } },
      ],
      ['empties an object', { securityContext: { fsGroup: 1 } }, { securityContext: { $patch: 'delete' } }, { securityContext: {} }],
      [
        'clears what is not retained',
        { volumes: [{ name: 'v', emptyDir: {} }] },
        {
          volumes: [{ name: 'v', configMap: { name: 'c' }, $retainKeys: ['name', 'configMap'] }],
        },
        { volumes: [{ name: 'v', configMap: { name: 'c' } }] },
      ],
      ['drops a new object with a directive', {}, { securityContext: { $patch: 'delete' } }, {}],
    ],
    podSpec,
  )
  expectAll(
    [
      [
        'clears the parameters of another strategy',
        { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } },
        {
          strategy: { $retainKeys: ['type'], type: 'Recreate' },
        },
        { strategy: { type: 'Recreate' } },
      ],
    ],
    deploymentSpec,
  )
  expectAll(
    [
      [
        'a field that patches replace',
        { selector: { matchLabels: { a: '1' } } },
        { selector: { matchLabels: { b: '2' } } },
        {
          selector: { matchLabels: { b: '2' } },
        },
      ],
    ],
    budgetSpec,
  )
})

test("what a patch cannot mean is refused in upstream's words", () => {
  const cases: [number, JsonObject, JsonObject, string][] = [
    [500, two, { $patch: 'nope' }, 'unknown patch type: nope in map: map[$patch:nope]'],
    [500, two, { $patch: 3 }, 'unknown patch type: %!s(int64=3) in map: map[$patch:3]'],
    [500, two, { containers: [{ name: 'a', $patch: 'nope' }] }, 'unknown patch type: nope in map: map[$patch:nope name:a]'],
    [500, two, { containers: [{ name: 'a', $patch: 'merge' }] }, 'merging lists cannot yet be specified in the patch'],
    [500, two, { containers: [{ image: 'x' }] }, 'map: map[image:x] does not contain declared merge key: name'],
    [500, two, { containers: [{ $patch: 'delete' }] }, 'map: map[$patch:delete] does not contain declared merge key: name'],
    [500, { containers: [] }, { containers: ['x'] }, 'expected a map[string]interface {}, but received a string'],
    [500, two, { containers: ['x'] }, 'list element types are not identical: [[map[image:a:1 name:a] map[image:b:1 name:b]] [x]]'],
    [422, { containers: [] }, { containers: [[]] }, 'lists of lists are not supported'],
    [500, two, { '$setElementOrder/containers': 'x' }, 'expected a []interface {}, but received a string'],
    [500, { containers: null }, { '$setElementOrder/containers': [{ name: 'a' }] }, 'expected a []interface {}, but received a %!s(<nil>)'],
    [400, two, { $setElementOrder: [] }, 'invalid patch format of setElementOrder list'],
    [400, two, { $deleteFromPrimitiveList: [] }, 'invalid patch format of primitive list'],
    [500, two, { '$setElementOrder/nope': [] }, 'unable to find api field in struct PodSpec for the json field "nope"'],
    [400, { securityContext: { a: 1 } }, { securityContext: { $retainKeys: 'x' } }, 'invalid patch format of retainKeys'],
    [400, { securityContext: { a: 1 } }, { securityContext: { $retainKeys: ['a'], b: 1 } }, 'invalid patch format of retainKeys'],
    [
      500,
      { nodeSelector: { a: {} } },
      { nodeSelector: { a: {} } },
      'merging an object in json but data type is not struct, instead is: map',
    ],
    [
      500,
      two,
      { containers: [{ name: 'b' }, { name: 'a' }], '$setElementOrder/containers': [{ name: 'a' }, { name: 'b' }] },
      "The order in patch list:\n[map[name:b] map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:a] map[name:b]]\n",
    ],
  ]
  for (const [code, current, patch, detail] of cases) {
    assert.throws(() => applyPatch('strategic', current, patch, podSpec), { code, detail }, detail)
  }
  assert.throws(() => applyPatch('strategic', {}, [], podSpec), { code: 400 })
  assert.throws(() => applyPatch('strategic', {}, {}), { code: 400, message: 'strategic merge patch format is not supported' })
})

test('long lists merge without stalling', () => {
  const env = Array.from({ length: 20_000 }, (_, index) => ({ name: `N${index}`, value: 'v' }))
  const current = { containers: [{ name: 'a', env }], finalizers: env.map(({ name }) => name) }
  const patch = {
    containers: [{ name: 'a', env: [...env].reverse(), '$setElementOrder/env': env.map(({ name }) => ({ name })).reverse() }],
  }
  const merged = applyPatch('strategic', current, patch, podSpec) as unknown as typeof current
  assert.equal(merged.containers[0]?.env[0]?.name, 'N19999')
})

test('a patch that nests too deep is refused, one that is deep is taken', () => {
  const nested = (levels: number): JsonObject => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
  for (const kind of ['json', 'merge', 'strategic'] as const) {
    const patch = kind === 'json' ? [{ op: 'add', path: '/a', value: nested(100_000) }] : nested(100_000)
    assert.throws(() => applyPatch(kind, {}, patch, podSpec), { code: 400, message: 'exceeded max depth' })
  }
  assert.ok(applyPatch('merge', {}, nested(900)))
})
