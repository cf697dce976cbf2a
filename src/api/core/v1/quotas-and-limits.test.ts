import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitRangeResource } from '#api/core/v1/limit-range.ts'
import { resourceQuotaResource } from '#api/core/v1/resource-quota.ts'
import type { V1LimitRangeItem, V1ResourceQuotaSpec } from '#api/core/v1/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', namespace: 'default', resourceVersion: '1' }

test('limits are validated in the words clients know', () => {
  const cases: [string, object, string[]][] = [
    ['a plain one', { type: 'Container', max: { cpu: '2' }, min: { cpu: '1' } }, []],
    ['an unknown type', { type: 'Node' }, ['type: Invalid value: "Node": must be a standard limit type or fully qualified']],
    [
      'a least above the most',
      { type: 'Pod', max: { cpu: '1' }, min: { cpu: '2' } },
      ['min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
    ],
    ['defaults of a pod', { type: 'Pod', default: { cpu: '1' } }, ["default: Forbidden: may not be specified when `type` is 'Pod'"]],
    [
      'a claim without bounds',
      { type: 'PersistentVolumeClaim' },
      ['limits: Required value: either minimum or maximum storage value is required, but neither was provided'],
    ],
    [
      'a default above the most',
      { type: 'Container', max: { cpu: '1' }, default: { cpu: '2' } },
      [
        'defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than max value 1',
        'default[cpu]: Invalid value: "1": default value 2 is greater than max value 1',
      ],
    ],
    [
      'a ratio below one',
      { type: 'Pod', maxLimitRequestRatio: { cpu: '500m' } },
      ['maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1'],
    ],
    [
      'a ratio that cannot be reached',
      { type: 'Pod', min: { cpu: '1' }, max: { cpu: '2' }, maxLimitRequestRatio: { cpu: '3' } },
      ['maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000'],
    ],
  ]
  for (const [name, limit, errors] of cases) {
    const given = { metadata, spec: { limits: [limit as V1LimitRangeItem] } }
    assert.deepEqual(
      tryCreate(limitRangeResource, given).errors,
      errors.map((error) => `spec.limits[0].${error}`),
      name,
    )
  }
})

test('what a container may have at most is what it gets, and asks for', () => {
  const { object } = tryCreate(limitRangeResource, {
    metadata,
    spec: { limits: [{ type: 'Container', max: { cpu: '2' }, min: { cpu: '1', memory: '1Gi' } }] },
  })
  assert.deepEqual(object.spec?.limits?.[0], {
    type: 'Container',
    max: { cpu: '2' },
    min: { cpu: '1', memory: '1Gi' },
    default: { cpu: '2' },
    defaultRequest: { cpu: '2', memory: '1Gi' },
  })
})

const quota = (spec: V1ResourceQuotaSpec) => ({ metadata, spec })

test('quotas are validated in the words clients know', () => {
  const notThere = 'unsupported scope applied to resource'
  const cases: [string, V1ResourceQuotaSpec, string[]][] = [
    ['a plain one', { hard: { cpu: '1', 'count/jobs.batch': '2', 'requests.nvidia.com/gpu': '1' } }, []],
    ['an unknown resource', { hard: { storage: '1' } }, ['hard[storage]: Invalid value: "storage": must be a standard resource for quota']],
    ['half a pod', { hard: { pods: '500m' } }, ['hard[pods]: Invalid value: "500m": must be an integer']],
    ['an unknown scope', { scopes: ['Some'] }, ['scopes: Invalid value: ["Some"]: unsupported scope']],
    [
      'scopes that exclude each other',
      { scopes: ['BestEffort', 'NotBestEffort'] },
      ['scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
    ],
    [
      'a scope of pods for secrets',
      { hard: { secrets: '1' }, scopes: ['Terminating'] },
      [`scopes: Invalid value: ["Terminating"]: ${notThere}`],
    ],
    [
      'a selector without values',
      { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In' }] } },
      [
        "scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      ],
    ],
  ]
  for (const [name, spec, errors] of cases)
    assert.deepEqual(
      tryCreate(resourceQuotaResource, quota(spec)).errors,
      errors.map((error) => `spec.${error}`),
      name,
    )
})

test('scopes stay, and a request above its limit is warned of', () => {
  assert.deepEqual(tryUpdate(resourceQuotaResource, quota({ scopes: ['BestEffort'] }), quota({})).errors, [
    'spec.scopes: Invalid value: null: field is immutable',
  ])
  assert.deepEqual(tryCreate(resourceQuotaResource, quota({ hard: { cpu: '2', 'limits.cpu': '1' } })).warnings, [
    'ResourceQuota cpu (2) should be less than limits.cpu (1)',
  ])
})

test('the table shows what is used of what there is', () => {
  const status = { hard: { 'requests.cpu': '2', pods: '10', 'limits.cpu': '4' }, used: { 'requests.cpu': '500m', 'limits.cpu': '1' } }
  const row = tryRow(resourceQuotaResource, { ...quota({}), status })
  assert.deepEqual([row['Request'], row['Limit']], ['pods: 0/10, requests.cpu: 500m/2', 'limits.cpu: 1/4'])
})
