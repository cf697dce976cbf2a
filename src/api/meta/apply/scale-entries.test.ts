import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepFreeze } from '#api/meta/deep-copy.ts'
import type { V1ManagedFieldsEntry } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { schemaOf } from '#api/schema/schema.ts'
import { defined } from '#base/defined.ts'
import { FieldManager } from './field-manager.ts'
import { entriesOfScale, entriesOfScaled, type ReplicasPaths } from './scale-entries.ts'
import { emptyObject, mergeTypeOf } from './schema-merge-type.ts'

const schema = schemaOf('io.k8s.api.autoscaling.v1.Scale')
const scales = new FieldManager({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  type: mergeTypeOf(schema),
  empty: emptyObject(schema),
  subresource: 'scale',
})
const paths: ReplicasPaths = { 'apps/v1': 'spec.replicas', 'apps/v1beta1': 'spec.replicas' }
const [noon, later] = ['2026-01-01T12:00:00Z', '2026-01-01T13:00:00Z']

const owner = (manager: string, operation: string, fieldsV1: object, more: object = {}): V1ManagedFieldsEntry =>
  ({ manager, operation, apiVersion: 'apps/v1', time: noon, fieldsType: 'FieldsV1', fieldsV1, ...more }) as V1ManagedFieldsEntry

const creator = owner('kubectl', 'Update', { 'f:spec': { 'f:paused': {}, 'f:replicas': {} } })
const applier = owner('ci', 'Apply', { 'f:spec': { 'f:replicas': {} } })

/** Replicas are left out when there are none. */
const scale = (replicas: number, managedFields?: V1ManagedFieldsEntry[]) =>
  ({
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'd', uid: 'u1', ...defined({ managedFields }) },
    spec: replicas === 0 ? {} : { replicas },
  }) as unknown as KubernetesObject

/** The object's entries after a write to its scale. */
function afterWrite(entries: V1ManagedFieldsEntry[], write: (live: KubernetesObject) => KubernetesObject): V1ManagedFieldsEntry[] {
  const live = deepFreeze(scale(2, entriesOfScale(entries, paths)))
  return entriesOfScaled(entries, write(live).metadata?.managedFields, 'apps/v1', paths) ?? []
}

test('[SA18] of the owners of an object, its scale shows those of the replicas', () => {
  const others = [
    owner('x', 'Update', { 'f:spec': { 'f:paused': {} } }),
    owner('gone', 'Apply', { 'f:spec': { 'f:replicas': {} } }, { apiVersion: 'old/v1' }),
  ]
  assert.deepEqual(entriesOfScale([creator, applier, ...others], paths), [
    { ...applier, apiVersion: 'autoscaling/v1' },
    { ...creator, apiVersion: 'autoscaling/v1', fieldsV1: { 'f:spec': { 'f:replicas': {} } } },
  ])
  assert.equal(entriesOfScale(others, paths), undefined)
})

test('[SA18] whoever scales takes the replicas from their owner, without a time', () => {
  const entries = afterWrite([creator], (live) => scales.updated(live, scale(5), { manager: 'hpa', time: later }))
  assert.deepEqual(entries, [
    {
      manager: 'hpa',
      operation: 'Update',
      apiVersion: 'apps/v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:spec': { 'f:replicas': {} } },
      subresource: 'scale',
    },
    { ...creator, fieldsV1: { 'f:spec': { 'f:paused': {} } } },
  ])
})

test('[SA4] a write to the scale that changes nothing leaves the owners as they are', () => {
  const entries = afterWrite([applier, creator], (live) => scales.updated(live, scale(2), { manager: 'hpa', time: later }))
  assert.deepEqual(entries, [applier, creator])
})

test('[SA18] an apply to the scale meets the owners of the object', () => {
  assert.throws(() => afterWrite([applier], (live) => scales.applied(live, scale(5), { manager: 'scaler', time: later })), {
    message: 'Apply failed with 1 conflict: conflict with "ci": .spec.replicas',
  })
  const forced = afterWrite([applier, creator], (live) => scales.applied(live, scale(5), { manager: 'scaler', time: later, force: true }))
  assert.deepEqual(
    forced.map(({ manager, subresource, fieldsV1 }) => [manager, subresource, fieldsV1]),
    [
      ['scaler', 'scale', { 'f:spec': { 'f:replicas': {} } }],
      ['kubectl', undefined, { 'f:spec': { 'f:paused': {} } }],
    ],
  )
})

test('who scales to zero owns nothing: no replicas are no field', () => {
  const entries = afterWrite([creator], (live) => scales.updated(live, scale(0), { manager: 'hpa', time: later }))
  assert.deepEqual(entries, [{ ...creator, fieldsV1: { 'f:spec': { 'f:paused': {} } } }])
})

test('owners in versions that are gone are forgotten, those without a scale are kept', () => {
  const old = owner('old', 'Apply', { 'f:spec': { 'f:replicas': {} } }, { apiVersion: 'gone/v1' })
  const plain = owner('plain', 'Apply', { 'f:spec': { 'f:size': {} } }, { apiVersion: 'plain/v1' })
  const known = { ...paths, 'plain/v1': null }
  assert.deepEqual(entriesOfScaled([old, plain], undefined, 'apps/v1', known), [plain])
})
