import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bindingResource } from '#api/core/v1/binding.ts'
import { componentStatusResource } from '#api/core/v1/component-status.ts'
import { coreV1 } from '#api/core/v1/core.ts'
import { endpointsResource } from '#api/core/v1/endpoints.ts'
import { eventResource } from '#api/core/v1/event.ts'
import { podTemplateResource } from '#api/core/v1/pod-template.ts'
import { replicationControllerResource } from '#api/core/v1/replication-controller.ts'
import { serviceAccountResource } from '#api/core/v1/service-account.ts'
import type { V1EndpointSubset, V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const { isEnabled } = new FeatureGates()
const metadata = { name: 'a', namespace: 'default', resourceVersion: '1' }
const template: V1PodTemplateSpec = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }

test('the group has its seventeen kinds, each under a name of its own', () => {
  assert.equal(new Set(coreV1.map(({ plural }) => plural)).size, 17)
  for (const { kind, schema } of coreV1) assert.equal(schema, `io.k8s.api.core.v1.${kind}`)
})

test('replication controllers', () => {
  const create = (spec: object) => tryCreate(replicationControllerResource, { metadata, spec }, { isEnabled })
  const { object, errors } = create({ template })
  assert.deepEqual([errors, object.spec.replicas, object.spec.selector, object.metadata.labels], [[], 1, { app: 'web' }, { app: 'web' }])
  assert.deepEqual(create({ selector: { app: 'x' } }).errors, ['spec.template: Required value'])
  assert.deepEqual(create({ template, selector: { app: 'x' } }).errors, [
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
  ])
  assert.deepEqual(create({ template, replicas: -1 }).errors, ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'])
  const once = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } }
  assert.deepEqual(create({ template: once }).errors, [
    'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
  ])
  const status = { replicas: 1, readyReplicas: 2 }
  assert.deepEqual(tryUpdate(replicationControllerResource, object, { ...object, status }, { isEnabled, subresource: 'status' }).errors, [
    'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
  ])
  assert.equal(tryRow(replicationControllerResource, object)['Selector'], 'app=web')
})

test('pod templates', () => {
  const { object, errors } = tryCreate(podTemplateResource, { metadata, template }, { isEnabled })
  assert.deepEqual([errors, object.template?.spec?.restartPolicy], [[], 'Always'])
  const row = tryRow(podTemplateResource, object)
  assert.deepEqual([row['Containers'], row['Images'], row['Pod Labels']], ['c', 'i', 'app=web'])
  assert.deepEqual(tryCreate(podTemplateResource, { metadata }, { isEnabled }).errors, ['template.spec.containers: Required value'])
})

test('endpoints', () => {
  const create = (subset: object) => tryCreate(endpointsResource, { metadata, subsets: [subset as V1EndpointSubset] })
  const cases: [object, string[]][] = [
    [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }, []],
    [{}, ['subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`']],
    [
      { addresses: [{ ip: '169.254.0.1' }] },
      ['subsets[0].addresses[0].ip: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
    ],
    [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 1 }, { port: 2, name: 'b' }] }, ['subsets[0].ports[0].name: Required value']],
  ]
  for (const [subset, errors] of cases) assert.deepEqual(create(subset).errors, errors)
  const addresses = ['1', '2', '3', '4'].map((last) => ({ ip: `10.0.0.${last}` }))
  assert.equal(
    tryRow(endpointsResource, create({ addresses, ports: [{ port: 80 }] }).object)['Endpoints'],
    '10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 1 more...',
  )
  const old = { metadata, subsets: [{ addresses: [{ ip: '127.0.0.1' }] }] }
  assert.deepEqual(tryUpdate(endpointsResource, old, structuredClone(old)).errors, [], 'what was stored may stay')
})

test('service accounts keep names of secrets alone', () => {
  const { object, warnings } = tryCreate(serviceAccountResource, {
    metadata: { ...metadata, annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } },
    secrets: [{ name: 's', namespace: 'n' }],
  })
  assert.deepEqual(object.secrets, [{ name: 's' }])
  assert.deepEqual(warnings, [
    'metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets',
  ])
})

test('events', () => {
  const event = {
    metadata,
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:01:00Z',
  }
  assert.deepEqual(tryCreate(eventResource, event).errors, [])
  assert.deepEqual(tryCreate(eventResource, { ...event, involvedObject: { namespace: 'other' } }).errors, [
    'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
  ])
  const row = tryRow(eventResource, event, Date.parse('2026-01-01T00:02:00Z'))
  assert.deepEqual([row['Last Seen'], row['First Seen'], row['Object'], row['Count']], ['60s', '2m', 'pod/p', 1])
})

test('bindings name a node, and components are healthy or not', () => {
  assert.deepEqual(tryCreate(bindingResource, { metadata, target: { kind: 'Pod', name: 'x' } }).errors, [
    'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
  ])
  assert.deepEqual(tryCreate(bindingResource, { metadata, target: {} }).errors, ['target.name: Required value'])
  const row = tryRow(componentStatusResource, { metadata, conditions: [{ type: 'Healthy', status: 'False', message: 'm' }] })
  assert.deepEqual([row['Status'], row['Message'], row['Error']], ['Unhealthy', 'm', ''])
})
