import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import {
  type Anything,
  configMap,
  configMaps,
  deployment,
  deployments,
  entry,
  later,
  managerOf,
  noon,
  owners,
  pods,
  statuses,
  stored,
} from '#api/meta/apply/testing/ownership.ts'
import { equalityOf } from '#api/meta/equality.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { schemaOf } from '#api/schema/schema.ts'
import { onlyThese } from './field-filter.ts'
import { FieldManager, keepTimesOfNoop } from './field-manager.ts'
import { mergeTypeOf } from './schema-merge-type.ts'

test('[SA2] a create is owned by its creator: fields, items, and what was not there before, but no metadata', () => {
  const object = pods.updated(
    undefined,
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', labels: { a: 'b' }, creationTimestamp: noon },
      spec: { containers: [{ name: 'a', resources: {} }] },
      status: { phase: 'x' },
    } as KubernetesObject,
    { manager: 'kubectl', time: noon },
  )
  assert.deepEqual(object.metadata?.managedFields?.[0]?.fieldsV1, {
    'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } },
    'f:spec': { 'f:containers': { 'k:{"name":"a"}': { '.': {}, 'f:name': {}, 'f:resources': {} } } },
  })
  assert.equal(configMaps.updated(undefined, configMap({}), { manager: '', time: noon }).metadata?.managedFields?.[0]?.manager, 'unknown')
})

test('[SA2] an update takes what it changes, and drops what it removes', () => {
  const live = stored(configMaps.applied(undefined, configMap({ a: '1', b: '1', c: '1' }), { manager: 'one', time: noon }))
  const next = configMaps.updated(live, configMap({ a: '2', b: '1', d: '1' }, { uid: 'u1' }), { manager: 'kubectl-edit', time: later })
  assert.deepEqual(owners(next), ['one Apply: .data.b', 'kubectl-edit Update: .data.a .data.d'])
  assert.equal(next.metadata?.managedFields?.[1]?.time, later)

  const again = configMaps.updated(stored(next), configMap({ a: '2', b: '1', d: '2' }, { uid: 'u1' }), {
    manager: 'kubectl-edit',
    time: '2026-01-01T14:00:00Z',
  })
  assert.deepEqual(owners(again), ['one Apply: .data.b', 'kubectl-edit Update: .data.a .data.d'])
  assert.equal(again.metadata?.managedFields?.[1]?.time, '2026-01-01T14:00:00Z')

  const frozen = stored(again)
  const same = configMaps.updated(frozen, configMap({ a: '2', b: '1', d: '2' }, { uid: 'u1' }), { manager: 'other', time: later })
  assert.equal(same.metadata?.managedFields, frozen.metadata?.managedFields, 'an update without changes leaves the very list')

  const gone = configMaps.updated(frozen, configMap({}, { uid: 'u1' }), { manager: 'other', time: later })
  assert.deepEqual(owners(gone), [])
})

test('[SA3] the endpoint decides what a write can own', () => {
  const live = stored(
    deployments.updated(undefined, { ...deployment({ replicas: 1 }), status: {} } as KubernetesObject, { manager: 'kubectl', time: noon }),
  )
  const next = { ...deployment({ replicas: 9 }, { uid: 'u1' }), status: { replicas: 1 } } as KubernetesObject
  assert.deepEqual(owners(statuses.updated(live, structuredClone(next), { manager: 'controller', time: later })), [
    'kubectl Update: .spec.replicas',
    'controller/status Update: .status.replicas',
  ])
  assert.deepEqual(owners(deployments.updated(live, structuredClone(next), { manager: 'controller', time: later })), [
    'controller Update: .spec.replicas',
  ])

  const resize = managerOf('v1', 'Pod', 'io.k8s.api.core.v1.Pod', {
    subresource: 'resize',
    filterAt: () => onlyThese(['spec.containers.*.resources']),
  })
  const pod = (memory: string, image: string) =>
    ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', uid: 'u1' },
      spec: { containers: [{ name: 'a', image, resources: { limits: { memory } } }] },
    }) as KubernetesObject
  const before = stored(pods.updated(undefined, { ...pod('1Gi', 'x'), metadata: { name: 'p' } }, { manager: 'kubectl', time: noon }))
  assert.equal(
    owners(resize.updated(before, pod('2Gi', 'y'), { manager: 'vpa', time: later }))[1],
    'vpa/resize Update: .spec.containers[name="a"].resources.limits.memory',
  )
})

test('[SA6] what clients write into managedFields counts if it can be read, and only at the object itself', () => {
  const live = stored(configMaps.applied(undefined, configMap({ a: '1' }), { manager: 'one', time: noon }))
  const renamed = [entry('renamed', 'Apply', { 'f:data': { 'f:a': {} } })]
  const update = (managedFields: unknown, manager = configMaps) =>
    owners(manager.updated(live, configMap({ a: '1' }, { uid: 'u1', managedFields }), { manager: 'x', time: later }))
  assert.deepEqual(update(renamed), ['renamed Apply: .data.a'])
  assert.deepEqual(update(undefined), ['one Apply: .data.a'])
  assert.deepEqual(update(renamed, managerOf('v1', 'ConfigMap', 'io.k8s.api.core.v1.ConfigMap', { subresource: 'status' })), [
    'one Apply: .data.a',
  ])
  for (const reset of [[], [{}], [{ manager: '' }]]) assert.deepEqual(update(reset), [], JSON.stringify(reset))
  for (const bad of [
    [{ ...renamed[0], operation: 'Nope' }],
    [{ ...renamed[0], fieldsType: 'FieldsV2' }],
    [{ ...renamed[0], apiVersion: '' }],
    [{ ...renamed[0], fieldsV1: { nope: {} } }],
  ]) {
    assert.deepEqual(update(bad), ['one Apply: .data.a'], JSON.stringify(bad))
  }
})

test('[SA7] objects nobody tracked stay untracked until somebody applies to them', () => {
  const live = stored(configMap({ a: '1', b: '2' }))
  assert.deepEqual(owners(configMaps.updated(live, configMap({ a: '2' }, { uid: 'u1' }), { manager: 'x', time: later })), [])
  assert.throws(() => configMaps.applied(live, configMap({ a: '2' }), { manager: 'one', time: later }), {
    message: 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a',
  })
  assert.deepEqual(owners(configMaps.applied(live, configMap({ a: '1' }), { manager: 'one', time: later })), [
    'one Apply: .data.a',
    'before-first-apply Update: .data .data.a .data.b',
  ])
  const broken = stored(configMap({ a: '1' }, { managedFields: [entry('x', 'Nope', {})] }))
  assert.throws(() => configMaps.applied(broken, configMap({ a: '1' }), { manager: 'one', time: later }), {
    code: 500,
    message: 'failed to decode managed fields: operation must be `Apply` or `Update`',
  })
})

test('[SA5] the oldest of more than ten updaters become one', () => {
  let live = stored(configMaps.updated(undefined, configMap({ k0: 'v' }), { manager: 'm0', time: '2026-01-01T00:00:00Z' }))
  const data: Anything = { k0: 'v' }
  for (let index = 1; index < 13; index++) {
    data[`k${index}`] = 'v'
    live = stored(
      configMaps.updated(live, configMap({ ...data }, { uid: 'u1' }), {
        manager: `m${index}`,
        time: `2026-01-01T00:00:${String(index).padStart(2, '0')}Z`,
      }),
    )
  }
  const all = live.metadata?.managedFields ?? []
  assert.equal(all.length, 10)
  assert.equal(owners(live)[0], 'ancient-changes Update: .data .data.k0 .data.k1 .data.k2 .data.k3')
  assert.equal(all[0]?.time, '2026-01-01T00:00:03Z')
})

const sameConfigMap = equalityOf<KubernetesObject>(ConfigMap)

test('[SA4] a write that changes nothing but times gets the old times back', () => {
  const live = stored(configMaps.applied(undefined, configMap({ a: '1' }), { manager: 'one', time: noon }))
  const retimed = (data: Anything) =>
    ({
      ...live,
      data,
      metadata: { ...live.metadata, managedFields: live.metadata?.managedFields?.map((each) => ({ ...each, time: later })) },
    }) as KubernetesObject
  const same = retimed({ a: '1' })
  keepTimesOfNoop(live, same, sameConfigMap)
  assert.deepEqual(same, live)
  const other = retimed({ a: '2' })
  keepTimesOfNoop(live, other, sameConfigMap)
  assert.equal(other.metadata?.managedFields?.[0]?.time, later)
})

test('[SA4] owners that a new time would put in another order are the same owners', () => {
  const first = stored(configMaps.applied(undefined, configMap({ a: '1' }), { manager: 'one', time: noon }))
  const live = stored(configMaps.applied(first, configMap({ b: '2' }), { manager: 'two', time: noon }))
  const [one, two] = live.metadata?.managedFields ?? []
  const swapped = { ...live, metadata: { ...live.metadata, managedFields: [two, { ...one, time: later }] } } as KubernetesObject
  keepTimesOfNoop(live, swapped, sameConfigMap)
  assert.deepEqual(swapped, live)
})

test('[SA7] items that cannot be told apart leave the object without owners rather than with wrong ones', () => {
  const type = mergeTypeOf(schemaOf('io.k8s.api.core.v1.Pod'))
  const manager = new FieldManager({ apiVersion: 'v1', kind: 'Pod', type })
  const pod = manager.updated(
    undefined,
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [null] } } as KubernetesObject,
    { manager: 'x', time: noon },
  )
  assert.equal(pod.metadata?.managedFields, undefined)
})
