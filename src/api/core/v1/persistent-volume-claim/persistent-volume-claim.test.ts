import assert from 'node:assert/strict'
import { test } from 'node:test'
import { persistentVolumeClaimResource } from '#api/core/v1/persistent-volume-claim/persistent-volume-claim.ts'
import type { V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const { isEnabled } = new FeatureGates()
const size = (storage: string) => ({ resources: { requests: { storage } } })
const claim = (spec: object, more: object = {}): V1PersistentVolumeClaim => ({
  metadata: { name: 'a', namespace: 'default', resourceVersion: '1' },
  spec: { accessModes: ['ReadWriteOnce'], ...size('1Gi'), ...spec },
  ...more,
})
const stored = (spec: object, status: object = {}) => ({
  ...tryCreate(persistentVolumeClaimResource, claim(spec), { isEnabled }).object,
  status: { phase: 'Pending', ...status },
})

test('claims are validated in the words clients know', () => {
  const cases: [string, object, string[]][] = [
    ['a plain one', {}, []],
    ['no mode', { accessModes: [] }, ['accessModes: Required value: at least 1 access mode is required']],
    [
      'an unknown mode',
      { accessModes: ['Some'] },
      ['accessModes: Unsupported value: "Some": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'],
    ],
    [
      'one pod among many',
      { accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] },
      ['accessModes: Forbidden: may not use ReadWriteOncePod with other access modes'],
    ],
    ['no size', { resources: {} }, ['resources[storage]: Required value']],
    ['no space', size('0'), ['resources[storage]: Invalid value: "0": must be greater than zero']],
    ['an unknown volume mode', { volumeMode: 'Tape' }, ['volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"']],
    [
      'sources that differ',
      { dataSource: { kind: 'PersistentVolumeClaim', name: 'x' }, dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'y' } },
      [': Invalid value: {}: must match dataSourceRef'],
    ],
    [
      'a source of another kind',
      { dataSourceRef: { kind: 'Pod', name: 'x' } },
      [
        'dataSource: Invalid value: "Pod": must be \'PersistentVolumeClaim\' when referencing the default apiGroup',
        'dataSourceRef: Invalid value: "Pod": must be \'PersistentVolumeClaim\' when referencing the default apiGroup',
      ],
    ],
  ]
  for (const [name, spec, errors] of cases) {
    const shown = errors.map((error) => `spec${error.startsWith(':') ? '' : '.'}${error}`)
    assert.deepEqual(tryCreate(persistentVolumeClaimResource, claim(spec), { isEnabled }).errors, shown, name)
  }
})

test('each of the two fields for sources is filled in from the other', () => {
  const source = { kind: 'PersistentVolumeClaim', name: 'x' }
  assert.deepEqual(stored({ dataSource: source }).spec.dataSourceRef, source)
  assert.deepEqual(stored({ dataSourceRef: source }).spec.dataSource, source)
  assert.equal(stored({ dataSource: { apiGroup: 'example.com', kind: 'Tape', name: 'x' } }).spec.dataSource, undefined)
})

test('little may change once a volume was sought', () => {
  const update = (prev: V1PersistentVolumeClaim, spec: object) =>
    tryUpdate(persistentVolumeClaimResource, prev, claim(spec), { isEnabled }).errors
  assert.deepEqual(update(stored({}), { volumeName: 'v' }), [])
  assert.deepEqual(update(stored({}), { storageClassName: 'late' }), [])
  assert.match(
    update(stored({}), size('2Gi'))[0] ?? '',
    /^spec: Forbidden: spec is immutable after creation except resources\.requests and volumeAttributesClassName for bound claims\n@@ [^\n]* @@\n/,
  )
  const bound = stored({ volumeName: 'v', ...size('2Gi') }, { phase: 'Bound', capacity: { storage: '1Gi' } })
  assert.deepEqual(update(bound, { volumeName: 'v', ...size('3Gi') }), [])
  assert.deepEqual(update(bound, { volumeName: 'v', ...size('1500Mi') }), [])
  assert.deepEqual(update(bound, { volumeName: 'v', ...size('1Gi') }), [
    'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
  ])
})

test('a resize tells how far it came', () => {
  const prev = stored({})
  const update = (status: object) =>
    tryUpdate(persistentVolumeClaimResource, prev, { ...prev, status }, { isEnabled, subresource: 'status' }).errors
  assert.deepEqual(update({ allocatedResources: { storage: '1Gi' }, allocatedResourceStatuses: { storage: 'NodeResizePending' } }), [])
  assert.deepEqual(update({ allocatedResources: { cpu: '1' } }), [
    'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
  ])
})

test('warnings and the table', () => {
  assert.deepEqual(tryCreate(persistentVolumeClaimResource, claim(size('1500m')), { isEnabled }).warnings, [
    'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
  ])
  const bound = stored(
    { volumeName: 'v', storageClassName: 'fast' },
    { phase: 'Bound', accessModes: ['ReadWriteMany', 'ReadWriteOnce'], capacity: { storage: '1Gi' } },
  )
  const row = tryRow(persistentVolumeClaimResource, bound)
  assert.deepEqual(
    [row['Status'], row['Volume'], row['Capacity'], row['Access Modes'], row['StorageClass'], row['VolumeAttributesClass']],
    ['Bound', 'v', '1Gi', 'RWO,RWX', 'fast', '<unset>'],
  )
})
