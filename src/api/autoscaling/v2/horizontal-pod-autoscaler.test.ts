import assert from 'node:assert/strict'
import { test } from 'node:test'
import { horizontalPodAutoscalerResource } from '#api/autoscaling/v2/horizontal-pod-autoscaler.ts'
import type { V2HorizontalPodAutoscaler, V2HorizontalPodAutoscalerSpec, V2MetricSpec } from '#api/autoscaling/v2/types.gen.ts'
import { tryCreate, tryRow, tryUpdate } from '#api/testing/try-kind.ts'
import { defined } from '#base/defined.ts'

const metadata = { name: 'a', namespace: 'default', resourceVersion: '1' }
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }
const autoscaler = (spec: Partial<V2HorizontalPodAutoscalerSpec> = {}): V2HorizontalPodAutoscaler => ({
  metadata,
  spec: { scaleTargetRef, maxReplicas: 5, ...spec },
})
const usage = (averageUtilization: number): V2MetricSpec => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
})
const pods = (averageValue?: string): V2MetricSpec => ({
  type: 'Pods',
  pods: { metric: { name: 'm' }, target: { type: 'AverageValue', ...defined({ averageValue }) } },
})

test('autoscalers are validated in the words clients know', () => {
  const types = 'supported values: "ContainerResource", "External", "Object", "Pods", "Resource"'
  const cases: [string, Partial<V2HorizontalPodAutoscalerSpec>, string[]][] = [
    ['the smallest one', {}, []],
    ['a replication controller has no group', { scaleTargetRef: { apiVersion: 'v1', kind: 'ReplicationController', name: 'r' } }, []],
    [
      'no group',
      { scaleTargetRef: { kind: 'Deployment', name: 'd' } },
      ['spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group'],
    ],
    [
      'too much of a group',
      { scaleTargetRef: { ...scaleTargetRef, apiVersion: 'a/b/c' } },
      ['spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
    ],
    [
      'a kind that is a path',
      { scaleTargetRef: { ...scaleTargetRef, kind: 'a/b' } },
      ['spec.scaleTargetRef.kind: Invalid value: "a/b": may not contain \'/\''],
    ],
    ['fewer than the least', { minReplicas: 9 }, ['spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`']],
    [
      'none',
      { minReplicas: 0 },
      [
        'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
        'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
      ],
    ],
    [
      'an unknown metric',
      { metrics: [{ type: 'Nope' }] },
      [`spec.metrics[0].type: Unsupported value: "Nope": ${types}`, `spec.metrics[0].type: Unsupported value: "Nope": ${types}`],
    ],
    [
      'a metric of two kinds',
      { metrics: [{ ...usage(50), ...pods('1'), type: 'Resource' }] },
      ['spec.metrics[0].pods: Forbidden: must populate the given metric source only'],
    ],
    [
      'no target',
      { metrics: [pods()] },
      ['spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue'],
    ],
    ['a target below zero', { metrics: [pods('-1')] }, ['spec.metrics[0].pods.target.averageValue: Invalid value: "-1": must be positive']],
    ['no use', { metrics: [usage(0)] }, ['spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0']],
    [
      'a slow policy',
      { behavior: { scaleUp: { policies: [{ type: 'Pods', value: 1, periodSeconds: 2000 }] } } },
      ['spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 2000: must be less than or equal to 1800'],
    ],
    [
      'an unknown choice',
      { behavior: { scaleDown: { selectPolicy: 'Nope', stabilizationWindowSeconds: -1 } } },
      [
        'spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero',
        'spec.behavior.scaleDown.selectPolicy: Unsupported value: "Nope": supported values: "Disabled", "Max", "Min"',
      ],
    ],
    [
      'no policy',
      { behavior: { scaleUp: { policies: [] } } },
      ['spec.behavior.scaleUp.policies: Required value: must specify at least one Policy'],
    ],
  ]
  for (const [name, spec, errors] of cases)
    assert.deepEqual(tryCreate(horizontalPodAutoscalerResource, autoscaler(spec)).errors, errors, name)
})

test('who says nothing gets eighty percent of the CPU', () => {
  const { spec } = tryCreate(horizontalPodAutoscalerResource, autoscaler()).object
  assert.deepEqual([spec.minReplicas, spec.metrics, spec.behavior], [1, [usage(80)], undefined])
})

test('a behavior is completed on both sides, once there is one', () => {
  const { behavior } = tryCreate(horizontalPodAutoscalerResource, autoscaler({ behavior: { scaleUp: { selectPolicy: 'Min' } } })).object
    .spec
  assert.deepEqual(behavior, {
    scaleUp: {
      selectPolicy: 'Min',
      stabilizationWindowSeconds: 0,
      policies: [
        { type: 'Pods', value: 4, periodSeconds: 15 },
        { type: 'Percent', value: 100, periodSeconds: 15 },
      ],
    },
    scaleDown: { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] },
  })
})

test('a target that was stored without a group may stay', () => {
  const prev = autoscaler({ scaleTargetRef: { kind: 'Deployment', name: 'd' } })
  assert.deepEqual(tryUpdate(horizontalPodAutoscalerResource, prev, autoscaler({ ...prev.spec, maxReplicas: 7 })).errors, [])
})

test('a tolerance is there with its gate only', () => {
  const given = autoscaler({ behavior: { scaleUp: { tolerance: '50m' } } })
  assert.equal(tryCreate(horizontalPodAutoscalerResource, given).object.spec.behavior?.scaleUp?.tolerance, undefined)
  assert.equal(tryCreate(horizontalPodAutoscalerResource, given, { isEnabled: () => true }).object.spec.behavior?.scaleUp?.tolerance, '50m')
})

test('a row shows two targets and counts the others', () => {
  const { object } = tryCreate(horizontalPodAutoscalerResource, autoscaler({ metrics: [usage(80), pods('10'), pods('11')] }))
  const status = {
    desiredReplicas: 1,
    currentReplicas: 3,
    currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 20 } } }],
  }
  assert.deepEqual(tryRow(horizontalPodAutoscalerResource, { ...object, status }), {
    Name: 'a',
    Reference: 'Deployment/d',
    Targets: 'cpu: 20%/80%, <unknown>/10 + 1 more...',
    MinPods: '1',
    MaxPods: 5,
    Replicas: 3,
    Age: '<unknown>',
  })
})
