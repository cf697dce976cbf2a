import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInScopes, objectCount } from '#api/core/v1/quota/evaluator.ts'
import { isUncounted, quotaEvaluators } from '#api/core/v1/quota/evaluators.ts'
import { quantityTexts } from '#api/core/v1/quota/quantities.ts'
import { quotaUsage } from '#api/core/v1/quota/quota-usage.ts'
import type { V1Pod, V1ResourceQuota } from '#api/core/v1/types.gen.ts'
import { type GroupResource, groupResourceText } from '#api/meta/gvk.ts'
import type { V1DeviceClass, V1ResourceClaim } from '#api/resource/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { defined } from '#base/defined.ts'
import { atOnce } from '#base/steps.ts'

const now = Date.parse('2026-01-01T00:10:00Z')
const lookups = {
  nowMs: () => now,
  isEnabled: () => true,
  deviceClasses: () => [{ metadata: { name: 'gpu' }, spec: { extendedResourceName: 'example.com/gpu' } }] as V1DeviceClass[],
  pod: (_: string, name: string) => (name === 'owner' ? (ownerOfClaim as unknown as V1Pod) : undefined),
  resourceClaims: () => [] as V1ResourceClaim[],
}
const ownerOfClaim = {
  metadata: { name: 'owner', uid: 'u' },
  spec: { containers: [{ name: 'c', resources: { requests: { 'example.com/gpu': '1' } } }] },
}

const evaluators = new Map(quotaEvaluators(lookups).map((each) => [groupResourceText(each), each]))
const evaluatorOf = (resource: string) => {
  const found = evaluators.get(resource)
  assert.ok(found, resource)
  return found
}
const usage = (resource: string, object: object) => quantityTexts(evaluatorOf(resource).usage(object as KubernetesObject))

const pod = (spec: object = {}, more: object = {}) => ({ metadata: { name: 'p' }, spec: { containers: [{ name: 'c' }], ...spec }, ...more })
const resources = (requests: object, limits: object = {}) => ({ containers: [{ name: 'c', resources: { requests, limits } }] })

test('pods use what their containers ask for, under all its names', () => {
  const requests = { cpu: '100m', memory: '1Gi', 'ephemeral-storage': '1Gi', 'hugepages-2Mi': '4Mi', 'example.com/gpu': '2' }
  assert.deepEqual(usage('pods', pod(resources(requests, { cpu: '1', memory: '2Gi', 'ephemeral-storage': '3Gi' }))), {
    'count/pods': '1',
    pods: '1',
    cpu: '100m',
    'requests.cpu': '100m',
    'limits.cpu': '1',
    memory: '1Gi',
    'requests.memory': '1Gi',
    'limits.memory': '2Gi',
    'ephemeral-storage': '1Gi',
    'requests.ephemeral-storage': '1Gi',
    'limits.ephemeral-storage': '3Gi',
    'hugepages-2Mi': '4Mi',
    'requests.hugepages-2Mi': '4Mi',
    'requests.example.com/gpu': '2',
  })
})

test('sidecars, overhead and resizes under way count', () => {
  const cpuOf = (object: object) => usage('pods', object)['requests.cpu']
  const sidecar = { name: 's', restartPolicy: 'Always', resources: { requests: { cpu: '1' } } }
  assert.equal(cpuOf(pod({ ...resources({ cpu: '1' }), initContainers: [sidecar], overhead: { cpu: '250m' } })), '2250m')
  const status = (more: object = {}) => ({
    status: { containerStatuses: [{ name: 'c', resources: { requests: { cpu: '3' } }, allocatedResources: { cpu: '2' } }], ...more },
  })
  assert.equal(cpuOf(pod(resources({ cpu: '1' }), status())), '3')
  assert.equal(cpuOf(pod(resources({ cpu: '5' }), status())), '5')
  const infeasible = { conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }] }
  assert.equal(cpuOf(pod(resources({ cpu: '5' }), status(infeasible))), '3')
})

test('a pod that has ended, or should long be gone, is counted as an object only', () => {
  const onlyCount = { 'count/pods': '1' }
  assert.deepEqual(usage('pods', pod(resources({ cpu: '1' }), { status: { phase: 'Succeeded' } })), onlyCount)
  const deleted = (deletionTimestamp: string) => ({ ...pod(), metadata: { name: 'p', deletionTimestamp, deletionGracePeriodSeconds: 30 } })
  assert.deepEqual(usage('pods', deleted('2026-01-01T00:09:00Z')), onlyCount)
  assert.equal(usage('pods', deleted('2026-01-01T00:09:50Z'))['pods'], '1')
})

test('quotas over cpu and memory make containers say what they want', () => {
  const missing = (spec: object, names: string[]) => evaluatorOf('pods').missing?.(pod(spec) as KubernetesObject, names)
  const two = { containers: [{ name: 'b' }, { name: 'a' }] }
  assert.equal(missing(two, ['cpu', 'limits.memory', 'pods']), 'must specify cpu for: a,b; limits.memory for: a,b')
  assert.equal(missing(resources({ cpu: '1' }), ['requests.cpu', 'ephemeral-storage']), undefined)
  assert.equal(missing({ ...two, resources: { limits: { cpu: '1' } } }, ['cpu']), undefined)
})

test('services use ports of nodes and load balancers', () => {
  const of = (spec: object) => {
    const used = usage('services', { metadata: {}, spec })
    return [used['services.nodeports'], used['services.loadbalancers'], used['services'], used['count/services']]
  }
  const ports = [{ port: 80 }, { port: 81, nodePort: 30_000 }]
  assert.deepEqual(of({ type: 'ClusterIP', ports }), ['0', '0', '1', '1'])
  assert.deepEqual(of({ type: 'NodePort', ports }), ['2', '0', '1', '1'])
  assert.deepEqual(of({ type: 'LoadBalancer', ports }), ['2', '1', '1', '1'])
  assert.deepEqual(of({ type: 'LoadBalancer', ports, allocateLoadBalancerNodePorts: false }), ['1', '1', '1', '1'])
})

test('claims use storage, by class and in whole bytes', () => {
  const claim = (storage: string, status: object = {}) => ({
    metadata: {},
    spec: { storageClassName: 'gold', resources: { requests: { storage } } },
    status,
  })
  assert.deepEqual(usage('persistentvolumeclaims', claim('1Gi')), {
    persistentvolumeclaims: '1',
    'count/persistentvolumeclaims': '1',
    'requests.storage': '1Gi',
    'gold.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
    'gold.storageclass.storage.k8s.io/requests.storage': '1Gi',
  })
  assert.equal(usage('persistentvolumeclaims', claim('1500m'))['requests.storage'], '2')
  assert.equal(usage('persistentvolumeclaims', claim('1Gi', { allocatedResources: { storage: '2Gi' } }))['requests.storage'], '2Gi')
})

test('claims of devices use their class, at worst, and the extended resource it stands for', () => {
  const claim = (requests: object[], metadata: object = {}) => ({
    metadata: { name: 'c', namespace: 'ns', ...metadata },
    spec: { devices: { requests } },
  })
  const exactly = (count: number, allocationMode = 'ExactCount') => ({
    name: 'r',
    exactly: { deviceClassName: 'gpu', allocationMode, count },
  })
  assert.deepEqual(usage('resourceclaims.resource.k8s.io', claim([exactly(2), exactly(1)])), {
    'count/resourceclaims.resource.k8s.io': '1',
    'gpu.deviceclass.resource.k8s.io/devices': '3',
    'requests.deviceclass.resource.kubernetes.io/gpu': '3',
    'requests.example.com/gpu': '3',
  })
  const devices = (requests: object[]) =>
    usage('resourceclaims.resource.k8s.io', claim(requests))['gpu.deviceclass.resource.k8s.io/devices']
  assert.equal(devices([exactly(0, 'All')]), '32')
  const firstAvailable = [exactly(4).exactly, { ...exactly(2).exactly }, { deviceClassName: 'tpu', allocationMode: 'ExactCount', count: 9 }]
  assert.equal(devices([{ name: 'r', firstAvailable }]), '4')
  const owned = claim([exactly(3)], {
    annotations: { 'resource.kubernetes.io/extended-resource-claim': 'true' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'owner', uid: 'u', controller: true }],
  })
  assert.equal(usage('resourceclaims.resource.k8s.io', owned)['requests.example.com/gpu'], '2', 'the pod is counted with one already')
})

const quota = (spec: object) => ({ metadata: { name: 'q', namespace: 'ns' }, spec }) as V1ResourceQuota

test('scopes', () => {
  const isIn = (object: object, spec: object, resource = 'pods') =>
    isInScopes(evaluatorOf(resource), quota(spec), object as KubernetesObject)
  const selector = (scopeName: string, operator: string, values?: string[]) => ({
    scopeSelector: { matchExpressions: [{ scopeName, operator, ...defined({ values }) }] },
  })
  const cases: [object, object, boolean][] = [
    [pod(), {}, true],
    [pod({ activeDeadlineSeconds: 5 }), { scopes: ['Terminating'] }, true],
    [pod(), { scopes: ['Terminating'] }, false],
    [pod(), { scopes: ['NotTerminating', 'BestEffort'] }, true],
    [pod(resources({ cpu: '1' })), { scopes: ['BestEffort'] }, false],
    [pod(resources({ cpu: '1' })), { scopes: ['NotBestEffort'] }, true],
    [pod({ priorityClassName: 'high' }), selector('PriorityClass', 'In', ['high', 'low']), true],
    [pod({ priorityClassName: 'other' }), selector('PriorityClass', 'In', ['high']), false],
    [pod(), selector('PriorityClass', 'NotIn', ['high']), true],
    [pod({ priorityClassName: 'high' }), selector('PriorityClass', 'Exists'), true],
    [pod({ priorityClassName: 'high' }), selector('PriorityClass', 'DoesNotExist'), false],
    [
      pod({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ namespaces: ['x'] }] } } }),
      { scopes: ['CrossNamespacePodAffinity'] },
      true,
    ],
    [
      pod({
        affinity: {
          podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { namespaceSelector: {} } }] },
        },
      }),
      { scopes: ['CrossNamespacePodAffinity'] },
      true,
    ],
    [
      pod({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'x' }] } } }),
      { scopes: ['CrossNamespacePodAffinity'] },
      false,
    ],
  ]
  for (const [object, spec, expected] of cases) assert.equal(isIn(object, spec), expected, JSON.stringify([object, spec]))
  const claim = { metadata: {}, spec: { volumeAttributesClassName: 'fast' }, status: { currentVolumeAttributesClassName: 'slow' } }
  assert.equal(isIn(claim, selector('VolumeAttributesClass', 'In', ['slow']), 'persistentvolumeclaims'), true)
  assert.equal(isIn(claim, selector('VolumeAttributesClass', 'DoesNotExist'), 'persistentvolumeclaims'), false)
  assert.equal(isIn({ metadata: {} }, { scopes: ['BestEffort'] }, 'services'), false, 'services are in no scope')
})

test('the usage of a namespace is the sum over its objects, zero where there are none', () => {
  const objects: Record<string, object[]> = {
    pods: [pod(resources({ cpu: '1' })), pod(resources({ cpu: '500m' })), pod(resources({ cpu: '9' }), { status: { phase: 'Failed' } })],
    configmaps: [{ metadata: {} }],
  }
  const counted = [...evaluators.values(), objectCount({ group: 'apps', resource: 'deployments' })]
  const hard = { 'requests.cpu': '10', pods: '5', 'count/pods': '5', configmaps: '5', 'count/deployments.apps': '1', unknown: '1' }
  const used = atOnce(
    quotaUsage(quota({ hard }), counted, (resource: GroupResource) => (objects[groupResourceText(resource)] ?? []) as KubernetesObject[]),
  )
  assert.deepEqual(quantityTexts(used), {
    'count/pods': '3',
    pods: '2',
    'requests.cpu': '1500m',
    configmaps: '1',
    'count/deployments.apps': '0',
  })
})

test('usage can shrink without a deletion', () => {
  const shrunk = (resource: string, next: object, prev: object) =>
    evaluatorOf(resource).mayHaveShrunk?.(next as KubernetesObject, prev as KubernetesObject) ?? false
  assert.equal(shrunk('pods', pod({}, { status: { phase: 'Succeeded' } }), pod()), true)
  assert.equal(shrunk('pods', pod({}, { status: { phase: 'Running' } }), pod()), false)
  const withStatus = (cpu: string) => pod({}, { status: { containerStatuses: [{ name: 'c', resources: { requests: { cpu } } }] } })
  assert.equal(shrunk('pods', withStatus('1'), withStatus('2')), true)
  assert.equal(shrunk('pods', withStatus('1'), withStatus('1000m')), false)
  assert.equal(shrunk('services', { spec: { type: 'ClusterIP' } }, { spec: { type: 'NodePort' } }), true)
  assert.equal(shrunk('persistentvolumeclaims', { metadata: {} }, { status: { allocatedResources: { storage: '1Gi' } } }), true)
})

test('what is not stored, and events, are not counted', () => {
  assert.equal(isUncounted({ group: '', resource: 'events' }), true)
  assert.equal(isUncounted({ group: 'authorization.k8s.io', resource: 'subjectaccessreviews' }), true)
  assert.equal(isUncounted({ group: 'apps', resource: 'deployments' }), false)
})
