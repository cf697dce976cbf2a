import assert from 'node:assert/strict'
import { test } from 'node:test'
import { priorityClassResource } from '#api/scheduling/v1/priority-class.ts'
import type { V1PriorityClass } from '#api/scheduling/v1/types.gen.ts'
import { tryCreate, tryUpdate } from '#api/testing/try-kind.ts'

const classOf = (fields: Partial<V1PriorityClass> = {}, name = 'a'): V1PriorityClass => ({
  metadata: { name, resourceVersion: '1' },
  ...fields,
})

test('priorities are validated in the words clients know', () => {
  const reserved = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "
  const cases: [V1PriorityClass, string[]][] = [
    [classOf({ value: 1_000_000_000 }), []],
    [classOf({ value: -5 }), []],
    [classOf({ value: 1_000_000_001 }), ['value: Forbidden: maximum allowed value of a user defined priority is 1000000000']],
    [classOf({ value: 2_000_001_000 }, 'system-node-critical'), []],
    [classOf({ value: 1 }, 'system-node-critical'), [`${reserved}value of system-node-critical PriorityClass must be 2000001000`]],
    [classOf({}, 'system-x'), [`${reserved}system-x is not a known system priority class`]],
    [
      classOf({ preemptionPolicy: 'Nope' }),
      ['preemptionPolicy: Unsupported value: "Nope": supported values: "PreemptLowerPriority", "Never"'],
    ],
  ]
  for (const [given, errors] of cases) assert.deepEqual(tryCreate(priorityClassResource, given).errors, errors)
})

test('a priority never changes', () => {
  const prev = tryCreate(priorityClassResource, classOf({ value: 1 })).object
  assert.equal(prev.preemptionPolicy, 'PreemptLowerPriority')
  assert.deepEqual(tryUpdate(priorityClassResource, prev, classOf({ value: 2, preemptionPolicy: 'Never' })).errors, [
    'value: Forbidden: may not be changed in an update.',
    'preemptionPolicy: Invalid value: "Never": field is immutable',
  ])
})

test('the classes of the system stay', () => {
  assert.equal(
    priorityClassResource.deletionForbidden?.('system-cluster-critical'),
    'this is a system priority class and cannot be deleted',
  )
  assert.equal(priorityClassResource.deletionForbidden?.('a'), undefined)
})
