import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  stored,
} from '#api/meta/apply/testing/ownership.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { schemaOf } from '#api/schema/schema.ts'
import { defined } from '#base/defined.ts'
import { FieldManager } from './field-manager.ts'
import { deducedType } from './merge-type.ts'
import { mergeTypeOf } from './schema-merge-type.ts'

test('[SA1] an applier owns what it speaks of, and not the structs on the way', () => {
  const object = deployments.applied(
    undefined,
    deployment({ replicas: 3, template: { spec: { containers: [{ name: 'a', image: 'x' }] } } }),
    {
      manager: 'one',
      time: noon,
    },
  )
  assert.deepEqual(object.metadata?.managedFields, [
    {
      manager: 'one',
      operation: 'Apply',
      apiVersion: 'apps/v1',
      time: noon,
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:spec': {
          'f:replicas': {},
          'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"a"}': { '.': {}, 'f:image': {}, 'f:name': {} } } } },
        },
      },
    },
  ])
})

test('[SA10] what others own is a conflict, named field by field', () => {
  const live = stored(configMaps.applied(undefined, configMap({ a: '1', b: '1' }), { manager: 'one', time: noon }))
  const apply = (data: Anything, force = false) => configMaps.applied(live, configMap(data), { manager: 'two', time: later, force })
  assert.throws(() => apply({ a: '2' }), {
    code: 409,
    message: 'Apply failed with 1 conflict: conflict with "one": .data.a',
    status: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Apply failed with 1 conflict: conflict with "one": .data.a',
      reason: 'Conflict',
      details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.a' }] },
      code: 409,
    },
  })
  assert.throws(() => apply({ b: '2', a: '2' }), { message: 'Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b' })
  assert.deepEqual(owners(apply({ a: '2' }, true)), ['one Apply: .data.b', 'two Apply: .data.a'])
  assert.deepEqual(owners(apply({ a: '1', c: '3' })), ['one Apply: .data.a .data.b', 'two Apply: .data.a .data.c'])
})

test('[SA10] conflicts with several owners are grouped by owner, updates with their version and endpoint', () => {
  const live = stored(
    configMap(
      { a: '1', b: '1', c: '1' },
      {
        managedFields: [
          entry('zed', 'Apply', { 'f:data': { 'f:a': {} } }),
          entry('kubectl-edit', 'Update', { 'f:data': { 'f:b': {} } }),
          entry('scaler', 'Update', { 'f:data': { 'f:c': {} } }, { subresource: 'scale' }),
        ],
      },
    ),
  )
  assert.throws(() => configMaps.applied(live, configMap({ a: '2', b: '2', c: '2' }), { manager: 'two', time: later }), {
    message: [
      'Apply failed with 3 conflicts: conflicts with "kubectl-edit" using v1:',
      '- .data.b',
      'conflicts with "scaler" with subresource "scale" using v1:',
      '- .data.c',
      'conflicts with "zed":',
      '- .data.a',
    ].join('\n'),
  })
})

test('[SA11] what an applier gives up goes, unless others own it', () => {
  const one = stored(
    deployments.applied(
      undefined,
      deployment({ replicas: 3, paused: true, template: { spec: { containers: [{ name: 'a' }, { name: 'b' }] } } }),
      { manager: 'one', time: noon },
    ),
  )
  const both = stored(
    deployments.applied(one, deployment({ template: { spec: { containers: [{ name: 'b' }] } } }), { manager: 'two', time: noon }),
  )
  const less = deployments.applied(both, deployment({ replicas: 3 }), { manager: 'one', time: later }) as Anything
  assert.deepEqual(less['spec'], { replicas: 3, template: { spec: { containers: [{ name: 'b' }] } } })
  assert.deepEqual(owners(less as KubernetesObject), [
    'two Apply: .spec.template.spec.containers[name="b"] .spec.template.spec.containers[name="b"].name',
    'one Apply: .spec.replicas',
  ])
})

test('[SA12] defaults inside what stays are left alone, and go with what goes', () => {
  const applied = deployments.applied(
    undefined,
    deployment({ strategy: { rollingUpdate: { maxSurge: 1 } }, template: { spec: { containers: [{ name: 'a', image: 'x' }] } } }),
    {
      manager: 'one',
      time: noon,
    },
  ) as Anything
  const spec = applied['spec'] as { strategy: { rollingUpdate: Anything; type?: string }; template: { spec: { containers: Anything[] } } }
  spec.strategy.rollingUpdate['maxUnavailable'] = 2
  Object.assign(spec.template.spec.containers[0] ?? {}, { imagePullPolicy: 'Always' })
  const live = stored(applied as KubernetesObject)
  const next = deployments.applied(live, deployment({ template: { spec: { containers: [{ name: 'a' }] } } }), {
    manager: 'one',
    time: later,
  }) as Anything
  assert.deepEqual(next['spec'], { template: { spec: { containers: [{ name: 'a', imagePullPolicy: 'Always' }] } } })
})

test('[SA13] lists that are sets, maps by several keys, and atomic lists', () => {
  const pod = (spec: Anything, metadata: Anything = {}) =>
    ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', ...metadata }, spec }) as KubernetesObject
  const ports = (...each: Anything[]) => pod({ containers: [{ name: 'a', ports: each }] })
  const dns = { containerPort: 53, protocol: 'UDP' }
  const live = stored(pods.applied(undefined, ports({ containerPort: 53 }, dns), { manager: 'one', time: noon }))
  const more = pods.applied(live, ports({ containerPort: 80, name: 'http' }), { manager: 'two', time: later }) as Anything
  assert.deepEqual((more['spec'] as { containers: { ports: unknown }[] }).containers[0]?.ports, [
    { containerPort: 53 },
    dns,
    { containerPort: 80, name: 'http' },
  ])
  assert.match(owners(more as KubernetesObject)[1] ?? '', /ports\[containerPort=80,protocol="TCP"\]\.name/)

  const finalizers = (...each: string[]) => pod({}, { finalizers: each })
  const first = stored(pods.applied(undefined, finalizers('a/x', 'a/y'), { manager: 'one', time: noon }))
  const second = stored(pods.applied(first, finalizers('a/z', 'a/y'), { manager: 'two', time: later }))
  assert.deepEqual(second.metadata?.finalizers, ['a/x', 'a/z', 'a/y'])
  assert.deepEqual(pods.applied(second, finalizers(), { manager: 'one', time: later }).metadata?.finalizers, ['a/z', 'a/y'])

  const args = (...each: string[]) => pod({ containers: [{ name: 'a', args: each }] })
  const atomic = stored(pods.applied(undefined, args('x'), { manager: 'one', time: noon }))
  assert.throws(
    () => pods.applied(atomic, args('x', 'y'), { manager: 'two', time: later }),
    /conflict with "one": \.spec\.containers\[name="a"\]\.args$/,
  )
})

test('[SA14] a configuration that the schema does not know, or that is another object, is refused', () => {
  const cases: [number, object, string][] = [
    [400, { apiVersion: 'v9', kind: 'Deployment' }, 'invalid object type: /v9, Kind=Deployment'],
    [400, { apiVersion: 'apps/v1' }, 'invalid object type: apps/v1, Kind='],
    [400, {}, 'invalid object type: /, Kind='],
    [400, deployment({}, { managedFields: [] }), 'metadata.managedFields must be nil'],
    [
      500,
      deployment({ nope: 1 }),
      'failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.nope: field not declared in schema',
    ],
    [
      500,
      deployment({ replicas: 'x' }),
      'failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got string',
    ],
    [
      500,
      deployment({ template: [] }),
      'failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.template: expected map, got &{[]}',
    ],
    [
      500,
      deployment({ paused: 'x', replicas: true }, { namespace: 'n' }),
      'failed to create typed patch object (n/d; apps/v1, Kind=Deployment): errors:\n  .spec.paused: expected boolean, got &{x}\n  .spec.replicas: expected numeric (int or float), got bool',
    ],
    [
      500,
      deployment({ template: { spec: { containers: [{ name: 'a' }, { name: 'a' }] } } }),
      'failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.template.spec.containers: duplicate entries for key [name="a"]',
    ],
    [
      500,
      deployment({ template: { spec: { containers: [null] } } }),
      'failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.template.spec.containers: element 0: associative list with keys may not have a null element',
    ],
  ]
  for (const [code, config, message] of cases) {
    assert.throws(() => deployments.applied(undefined, config, { manager: 'one', time: noon }), { code, message })
  }
})

test('[SA4] applying the same again changes nothing, not even the time', () => {
  const config = deployment({ replicas: 3, template: { metadata: { labels: { a: 'b' } } } })
  const live = stored(deployments.applied(undefined, config, { manager: 'one', time: noon }))
  assert.deepEqual(deployments.applied(live, config, { manager: 'one', time: later }), live)
  const shared = deployments.applied(live, deployment({ replicas: 3 }), { manager: 'two', time: later })
  assert.deepEqual(shared.metadata?.managedFields?.[0], {
    manager: 'two',
    operation: 'Apply',
    apiVersion: 'apps/v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': { 'f:replicas': {} } },
  })
})

test('[SA15] kubectl takes over without conflicts what it applied client-side, and keeps the annotation in step', () => {
  const annotation = 'kubectl.kubernetes.io/last-applied-configuration'
  const lastApplied = JSON.stringify(configMap({ a: '1', b: '1' }))
  const created = configMaps.updated(undefined, configMap({ a: '1', b: '1', c: '1' }, { annotations: { [annotation]: lastApplied } }), {
    manager: 'kubectl-client-side-apply',
    time: noon,
  })
  const live = stored(created)
  assert.throws(() => configMaps.applied(live, configMap({ a: '2' }), { manager: 'other', time: later }), /1 conflict/)
  assert.throws(() => configMaps.applied(live, configMap({ a: '2', c: '2' }), { manager: 'kubectl', time: later }), {
    message: 'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.c',
  })
  const applied = configMaps.applied(live, configMap({ a: '2', b: '1' }), { manager: 'kubectl', time: later })
  assert.equal(
    applied.metadata?.annotations?.[annotation],
    '{"apiVersion":"v1","data":{"a":"2","b":"1"},"kind":"ConfigMap","metadata":{"name":"c"}}\n',
  )
  assert.match(owners(applied)[0] ?? '', /^kubectl Apply: \.data\.a \.data\.b$/)
  const big = configMaps.applied(live, configMap({ a: '1', b: 'x'.repeat(300_000) }), { manager: 'kubectl', time: later, force: true })
  assert.deepEqual(big.metadata?.annotations, {})
})

test('[SA16] owners in another version of the kind are validated in their own words', () => {
  const beta = managerOf('example/v1', 'ConfigMap', 'io.k8s.api.core.v1.ConfigMap', {
    convert(object, apiVersion) {
      if (apiVersion === 'gone/v1') return undefined
      const from = object['apiVersion'] === 'old/v1' ? 'old' : 'data'
      const to = apiVersion === 'old/v1' ? 'old' : 'data'
      const { [from]: data, ...rest } = object
      const type = apiVersion === 'old/v1' ? deducedType : mergeTypeOf(schemaOf('io.k8s.api.core.v1.ConfigMap'))
      return { object: { ...rest, apiVersion, ...defined({ [to]: data }) }, type }
    },
  })
  const object = (data: Anything, metadata: Anything = {}) =>
    ({ ...configMap(data, metadata), apiVersion: 'example/v1' }) as KubernetesObject
  const managedFields = [
    entry('one', 'Apply', { 'f:old': { 'f:a': {} } }, { apiVersion: 'old/v1' }),
    entry('past', 'Update', { 'f:data': { 'f:a': {} } }, { apiVersion: 'gone/v1' }),
  ]
  const live = stored(object({ a: '1', b: '1' }, { managedFields }))
  assert.throws(() => beta.applied(live, object({ a: '2' }), { manager: 'two', time: later }), {
    message: 'Apply failed with 1 conflict: conflict with "one": .old.a',
  })
  assert.deepEqual(owners(beta.updated(live, object({ a: '2', b: '1' }, { uid: 'u1' }), { manager: 'x', time: later })), [
    'x Update: .data.a',
  ])
  assert.deepEqual((beta.applied(live, object({ c: '3' }), { manager: 'one', time: later }) as Anything)['data'], { b: '1', c: '3' })
})

test('[SA13] a part that has become atomic is owned as a whole', () => {
  const managedFields = [
    entry('one', 'Apply', { 'f:spec': { 'f:selector': { 'f:matchLabels': { 'f:a': {} } } } }, { apiVersion: 'apps/v1' }),
  ]
  const live = stored(deployment({ selector: { matchLabels: { a: 'b' } } }, { managedFields }))
  assert.throws(() => deployments.applied(live, deployment({ selector: { matchLabels: { a: 'c' } } }), { manager: 'two', time: later }), {
    message: 'Apply failed with 1 conflict: conflict with "one": .spec.selector',
  })
})

test('[SA13] kinds without a schema own maps by key and lists as a whole', () => {
  const widgets = new FieldManager({ apiVersion: 'example.com/v1', kind: 'Widget', type: deducedType })
  const widget = (spec: unknown, metadata: Anything = {}) =>
    ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', ...metadata }, spec }) as KubernetesObject
  const live = stored(
    widgets.applied(undefined, widget({ size: 1, list: [{ a: 1 }], map: { x: { y: 1 } } }), { manager: 'one', time: noon }),
  )
  assert.deepEqual(live.metadata?.managedFields?.[0]?.fieldsV1, {
    'f:spec': { '.': {}, 'f:list': {}, 'f:map': { '.': {}, 'f:x': { '.': {}, 'f:y': {} } }, 'f:size': {} },
  })
  assert.throws(() => widgets.applied(live, widget({ list: [{ a: 1 }, { b: 1 }] }), { manager: 'two', time: later }), /\.spec\.list$/)
  assert.deepEqual((widgets.applied(live, widget({ map: { z: 1 } }), { manager: 'two', time: later }) as Anything)['spec'], {
    size: 1,
    list: [{ a: 1 }],
    map: { x: { y: 1 }, z: 1 },
  })
  assert.deepEqual(owners(widgets.updated(live, widget('text', { uid: 'u1' }), { manager: 'x', time: later })), ['x Update: .spec'])
})

test('[SA17] configurations that nest too deep or list too much are refused or taken, without stalling', () => {
  const widgets = new FieldManager({ apiVersion: 'example.com/v1', kind: 'Widget', type: deducedType })
  const nested = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`)
  const deep = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec: nested }
  assert.throws(() => widgets.applied(undefined, deep, { manager: 'one', time: noon }), { code: 400, message: 'exceeded max depth' })

  const env = Array.from({ length: 5_000 }, (_, index) => ({ name: `N${index}`, value: 'v' }))
  const config = deployment({ template: { spec: { containers: [{ name: 'a', env }] } } })
  const live = stored(deployments.applied(undefined, config, { manager: 'one', time: noon }))
  const reversed = deployment({ template: { spec: { containers: [{ name: 'a', env: [...env].reverse() }] } } })
  const next = deployments.applied(live, reversed, { manager: 'two', time: later })
  assert.equal(next.metadata?.managedFields?.length, 2)
})
