import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resourcePoolStatusRequestResource } from '#api/resource/v1alpha3/resource-pool-status-request.ts'
import type { V1alpha3ResourcePoolStatusRequestSpec } from '#api/resource/v1alpha3/types.gen.ts'
import { deviceTaintRuleResource } from '#api/resource/v1beta2/device-taint-rule.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', resourceVersion: '1' }

test('requests for the status of pools are validated in the words clients know', () => {
  const cases: [V1alpha3ResourcePoolStatusRequestSpec, string[]][] = [
    [{ driver: 'D.example.com', poolName: 'a/b' }, []],
    [{ driver: '', limit: 0 }, ['spec.driver: Required value', 'spec.limit: Invalid value: 0: must be greater than or equal to 1']],
    [{ driver: 'd', limit: 1001 }, ['spec.limit: Invalid value: 1001: must be less than or equal to 1000']],
  ]
  for (const [spec, errors] of cases) assert.deepEqual(tryCreate(resourcePoolStatusRequestResource, { metadata, spec }).errors, errors)
  const prev = { metadata, spec: { driver: 'd', limit: 100 } }
  assert.deepEqual(tryUpdate(resourcePoolStatusRequestResource, prev, { metadata, spec: { driver: 'e' } }).errors, [
    'spec: Invalid value: null: field is immutable',
  ])
})

test('a request sums up its pools', () => {
  const status = {
    poolCount: 3,
    pools: [{ driver: 'd', poolName: 'p', generation: 1, totalDevices: 4, validationError: 'x' }],
    conditions: [],
  }
  const row = tryRow(resourcePoolStatusRequestResource, { metadata, spec: { driver: 'd' }, status })
  assert.deepEqual([row['Total'], row['Allocated'], row['Errors'], row['Pools'], row['Status']], ['4', '0', '1', 3, 'Pending'])
})

test('a taint counts from the moment of its effect', () => {
  const rule = (effect: string) => ({ metadata, spec: { taint: { key: 'k', effect, timeAdded: '2020-01-01T00:00:00Z' } } })
  assert.equal(tryUpdate(deviceTaintRuleResource, rule('None'), rule('NoExecute')).object.spec.taint.timeAdded, '2026-01-02T03:04:05Z')
  assert.equal(tryUpdate(deviceTaintRuleResource, rule('None'), rule('None')).object.spec.taint.timeAdded, '2020-01-01T00:00:00Z')
  assert.deepEqual(tryCreate(deviceTaintRuleResource, rule('Nope')).errors, [
    'spec.taint.effect: Unsupported value: "Nope": supported values: "NoExecute", "NoSchedule", "None"',
  ])
})
