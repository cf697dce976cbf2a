import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaseResource } from '#api/coordination/v1/lease.ts'
import type { V1LeaseSpec } from '#api/coordination/v1/types.gen.ts'
import { leaseCandidateResource } from '#api/coordination/v1beta1/lease-candidate.ts'
import type { V1beta1LeaseCandidateSpec } from '#api/coordination/v1beta1/types.gen.ts'
import { tryCreate, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', namespace: 'default', resourceVersion: '1' }
const on = { isEnabled: () => true }

test('leases are validated in the words clients know', () => {
  const cases: [V1LeaseSpec, string[]][] = [
    [{}, []],
    [{ holderIdentity: 'x', leaseDurationSeconds: 15, leaseTransitions: 0 }, []],
    [{ leaseDurationSeconds: 0 }, ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0']],
    [{ leaseTransitions: -1 }, ['spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0']],
    [{ strategy: 'Nope' }, ['spec.strategy.strategy: Unsupported value: "Nope": supported values: "OldestEmulationVersion"']],
    [{ preferredHolder: 'x' }, ['spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined']],
  ]
  for (const [spec, errors] of cases)
    assert.deepEqual(tryCreate(leaseResource, { metadata, spec }, on).errors, errors, JSON.stringify(spec))
})

test('a lease has a strategy with its gate only, unless it had one', () => {
  const spec = { strategy: 'OldestEmulationVersion' }
  assert.deepEqual(tryCreate(leaseResource, { metadata, spec }).object.spec, {})
  assert.deepEqual(tryUpdate(leaseResource, { metadata, spec }, { metadata, spec }).object.spec, spec)
})

test('candidates have versions that make sense', () => {
  const given = { leaseName: 'l', binaryVersion: '1.36.0', emulationVersion: '1.36.0', strategy: 'OldestEmulationVersion' }
  const cases: [Partial<V1beta1LeaseCandidateSpec>, string[]][] = [
    [{}, []],
    [{ leaseName: '' }, ['spec.leaseName: Required value']],
    [
      { binaryVersion: '1.36' },
      [
        'spec.binaryVersion: Invalid value: "1.36": must be a valid semantic version',
        'spec.binaryVersion: Invalid value: "1.36": must be greater than or equal to `emulationVersion`',
      ],
    ],
    [{ binaryVersion: '1.35.9' }, ['spec.binaryVersion: Invalid value: "1.35.9": must be greater than or equal to `emulationVersion`']],
    [{ emulationVersion: '' }, ["spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'"]],
  ]
  for (const [spec, errors] of cases) {
    assert.deepEqual(tryCreate(leaseCandidateResource, { metadata, spec: { ...given, ...spec } }).errors, errors, JSON.stringify(spec))
  }
  const other = { metadata, spec: { ...given, leaseName: 'm' } }
  assert.deepEqual(tryUpdate(leaseCandidateResource, { metadata, spec: given }, other).errors, [
    'spec.leaseName: Invalid value: "m": field is immutable',
  ])
})
