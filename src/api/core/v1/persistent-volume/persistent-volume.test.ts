import assert from 'node:assert/strict'
import { test } from 'node:test'
import { persistentVolumeResource } from '#api/core/v1/persistent-volume/persistent-volume.ts'
import { validateVolumeSpec } from '#api/core/v1/persistent-volume/validate-persistent-volume.ts'
import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const { isEnabled } = new FeatureGates()
const volume = (spec: object, metadata: object = {}): V1PersistentVolume => ({
  metadata: { name: 'a', resourceVersion: '1', ...metadata },
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' }, ...spec },
})
const none = { hostPath: undefined }
const stored = (spec: object) => tryCreate(persistentVolumeResource, volume(spec), { isEnabled }).object

test('volumes are validated in the words clients know', () => {
  const cases: [string, object, string[]][] = [
    ['a plain one', {}, []],
    ['no source', none, [': Required value: must specify a volume type']],
    ['two sources', { nfs: { server: 's', path: '/p' } }, ['nfs: Forbidden: may not specify more than 1 volume type']],
    ['no capacity', { capacity: {} }, ['capacity: Required value', 'capacity: Unsupported value: null: supported values: "storage"']],
    ['no modes', { accessModes: [] }, ['accessModes: Required value']],
    [
      'an unknown policy',
      { persistentVolumeReclaimPolicy: 'Burn' },
      ['persistentVolumeReclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Recycle", "Retain"'],
    ],
    [
      'the whole disk, to be wiped',
      { hostPath: { path: '/' }, persistentVolumeReclaimPolicy: 'Recycle' },
      ["persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
    ],
    ['a disk of no node', { ...none, local: { path: '/d' } }, ['nodeAffinity: Required value: Local volume requires node affinity']],
    ['a driver without a handle', { ...none, csi: { driver: 'd.example.com' } }, ['csi.volumeHandle: Required value']],
    [
      'a class without a driver',
      { volumeAttributesClassName: 'gold' },
      ['csi: Required value: has to be specified when using volumeAttributesClassName'],
    ],
  ]
  for (const [name, spec, errors] of cases) {
    const shown = errors.map((error) => `spec${error.startsWith(':') ? '' : '.'}${error}`)
    assert.deepEqual(tryCreate(persistentVolumeResource, volume(spec), { isEnabled }).errors, shown, name)
  }
})

test('a spec that stands for itself has a driver and nothing of claims', () => {
  const spec = { accessModes: ['ReadWriteOnce'], csi: { driver: 'd.example.com', volumeHandle: 'h' }, storageClassName: 'x' }
  const check = new Check(spec, 'spec')
  validateVolumeSpec(check, '', { allowInvalidLabelValueInNodeAffinity: false, isInline: true })
  assert.deepEqual(
    check.errors.map(({ field, body }) => `${field}: ${body}`),
    ['spec.storageClassName: Forbidden: may not be specified in the context of inline volumes'],
  )
})

test('the source of a volume stays', () => {
  const update = (prev: object, next: object) => tryUpdate(persistentVolumeResource, stored(prev), volume(next), { isEnabled }).errors
  assert.deepEqual(update({}, { persistentVolumeReclaimPolicy: 'Delete' }), [])
  assert.match(
    update({}, { hostPath: { path: '/other' } })[0] ?? '',
    /^spec\.persistentvolumesource: Forbidden: spec\.persistentvolumesource is immutable after creation\n@@ /,
  )
  const zone = (key: string) => ({
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values: ['z'] }] }] } },
  })
  assert.deepEqual(update(zone('failure-domain.beta.kubernetes.io/zone'), zone('topology.kubernetes.io/zone')), [])
  assert.match(
    update(zone('a'), zone('b'))[0] ?? '',
    /^nodeAffinity: Invalid value: .*: field is immutable, except for updating from beta label to GA$/,
  )
})

test('when its phase changed is told', () => {
  const prev = stored({})
  assert.deepEqual(prev.status, { phase: 'Pending', lastPhaseTransitionTime: '2026-01-02T03:04:05Z' })
  const next = { ...prev, status: { phase: 'Available' } }
  const update = tryUpdate(persistentVolumeResource, prev, next, { isEnabled, subresource: 'status', now: '2026-01-03T00:00:00Z' })
  assert.equal(update.object.status?.lastPhaseTransitionTime, '2026-01-03T00:00:00Z')
})

test('warnings and the table', () => {
  assert.deepEqual(tryCreate(persistentVolumeResource, volume({ persistentVolumeReclaimPolicy: 'Recycle' }), { isEnabled }).warnings, [
    'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
  ])
  const row = tryRow(persistentVolumeResource, stored({ claimRef: { namespace: 'n', name: 'c' } }))
  assert.deepEqual(
    [row['Capacity'], row['Access Modes'], row['Reclaim Policy'], row['Claim'], row['VolumeMode']],
    ['1Gi', 'RWO', 'Retain', 'n/c', 'Filesystem'],
  )
})
