import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeClassResource } from '#api/node/v1/runtime-class.ts'
import type { V1RuntimeClass } from '#api/node/v1/types.gen.ts'
import { tryCreate, tryUpdate } from '#api/testing/try-kind.ts'

const classOf = (fields: Partial<V1RuntimeClass> = {}): V1RuntimeClass => ({
  metadata: { name: 'a', resourceVersion: '1' },
  handler: 'runc',
  ...fields,
})

test('runtime classes are validated in the words clients know', () => {
  const toleration = { key: 'a', operator: 'Exists' }
  const cases: [string, Partial<V1RuntimeClass>, string[]][] = [
    ['a handler', {}, []],
    ['overhead', { overhead: { podFixed: { cpu: '100m' } } }, []],
    ['no handler', { handler: '' }, ['handler: Required value']],
    ['a handler with a dot', { handler: 'a.b' }, ['handler: Invalid value: "a.b": must not contain dots']],
    [
      'the same toleration twice',
      { scheduling: { tolerations: [toleration, toleration] } },
      ['scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}'],
    ],
  ]
  for (const [name, fields, errors] of cases) assert.deepEqual(tryCreate(runtimeClassResource, classOf(fields)).errors, errors, name)
})

test('a handler never changes', () => {
  assert.deepEqual(tryUpdate(runtimeClassResource, classOf(), classOf({ handler: 'kata' })).errors, [
    'handler: Invalid value: "kata": field is immutable',
  ])
})

test('labels of nodes that have a successor are warned of', () => {
  const { warnings } = tryCreate(runtimeClassResource, classOf({ scheduling: { nodeSelector: { 'beta.kubernetes.io/os': 'linux' } } }))
  assert.deepEqual(warnings, ['scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead'])
})
