import assert from 'node:assert/strict'
import { test } from 'node:test'
import { podDisruptionBudgetResource } from '#api/policy/v1/pod-disruption-budget.ts'
import type { V1PodDisruptionBudget, V1PodDisruptionBudgetSpec } from '#api/policy/v1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', namespace: 'default', resourceVersion: '1' }
const budget = (spec: V1PodDisruptionBudgetSpec): V1PodDisruptionBudget => ({ metadata, spec })
const selector = { matchLabels: { app: 'a' } }

test('budgets are validated in the words clients know', () => {
  const cases: [string, V1PodDisruptionBudgetSpec, string[]][] = [
    ['at least so many', { minAvailable: 1, selector }, []],
    ['at most so much', { maxUnavailable: '50%', selector, unhealthyPodEvictionPolicy: 'AlwaysAllow' }, []],
    ['nothing', {}, []],
    [
      'both',
      { minAvailable: 1, maxUnavailable: -1, selector },
      [
        'spec: Invalid value: {"MinAvailable":1,"Selector":{"matchLabels":{"app":"a"}},"MaxUnavailable":-1,"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
        'spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0',
      ],
    ],
    ['more than all', { minAvailable: '101%' }, ['spec.minAvailable: Invalid value: "101%": must not be greater than 100%']],
    [
      'an unknown policy',
      { unhealthyPodEvictionPolicy: 'Nope' },
      ['spec.unhealthyPodEvictionPolicy: Unsupported value: "Nope": supported values: "AlwaysAllow", "IfHealthyBudget"'],
    ],
    [
      'an unknown operator',
      { selector: { matchExpressions: [{ key: 'a', operator: 'Nope' }] } },
      ['spec.selector.matchExpressions[0].operator: Invalid value: "Nope": not a valid selector operator'],
    ],
  ]
  for (const [name, spec, errors] of cases) assert.deepEqual(tryCreate(podDisruptionBudgetResource, budget(spec)).errors, errors, name)
})

test('any name that fits into a path is fine', () => {
  assert.deepEqual(tryCreate(podDisruptionBudgetResource, { metadata: { ...metadata, name: 'Under_score' }, spec: {} }).errors, [])
})

test('a selector of values that are refused today may stay', () => {
  const selectorOf = (value: string) => ({ matchExpressions: [{ key: 'a', operator: 'In', values: [value] }] })
  const prev = budget({ minAvailable: 1, selector: selectorOf('b c') })
  assert.deepEqual(tryUpdate(podDisruptionBudgetResource, prev, budget({ minAvailable: 2, selector: selectorOf('b c') })).errors, [])
  assert.equal(tryUpdate(podDisruptionBudgetResource, budget({ selector }), budget({ selector: selectorOf('b c') })).errors.length, 1)
})

test('the mark of an old empty selector means nothing beside other requirements', () => {
  const mark = { key: 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match', operator: 'Exists' }
  const kept = tryCreate(podDisruptionBudgetResource, budget({ selector: { matchExpressions: [mark] } })).object.spec.selector
  assert.deepEqual(kept, { matchExpressions: [mark] })
  const other = { key: 'a', operator: 'Exists' }
  const stripped = tryCreate(podDisruptionBudgetResource, budget({ selector: { matchExpressions: [mark, other] } })).object.spec.selector
  assert.deepEqual(stripped, { matchExpressions: [other] })
})

test('a status counts from zero', () => {
  const status = { disruptionsAllowed: -1, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }
  const next = { ...budget({ minAvailable: 5 }), status }
  const { object, errors } = tryUpdate(podDisruptionBudgetResource, budget({ minAvailable: 1 }), next, { subresource: 'status' })
  assert.equal(object.spec.minAvailable, 1)
  assert.deepEqual(errors, ['status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0'])
})

test('a row shows both limits', () => {
  assert.deepEqual(tryRow(podDisruptionBudgetResource, { ...budget({ maxUnavailable: '50%' }), status: { disruptionsAllowed: 2 } }), {
    Name: 'a',
    'Min Available': 'N/A',
    'Max Unavailable': '50%',
    'Allowed Disruptions': 2,
    Age: '<unknown>',
  })
})
