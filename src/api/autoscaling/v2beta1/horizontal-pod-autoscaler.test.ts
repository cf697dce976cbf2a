import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1MetricSpec } from '#api/autoscaling/v1/types.gen.ts'
import type { V2HorizontalPodAutoscaler, V2MetricSpec } from '#api/autoscaling/v2/types.gen.ts'
import { horizontalPodAutoscalerResource, type V2beta1HorizontalPodAutoscaler } from '#api/autoscaling/v2beta1/horizontal-pod-autoscaler.ts'
import { tryCreateThrough } from '#api/testing/try-kind.ts'

const scaleTargetRef = { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' }
const autoscaler = (metrics: V1MetricSpec[], annotations?: Record<string, string>): V2beta1HorizontalPodAutoscaler => ({
  metadata: { name: 'a', namespace: 'n', ...(annotations && { annotations }) },
  spec: { scaleTargetRef, maxReplicas: 3, metrics },
})
const create = (given: V2beta1HorizontalPodAutoscaler) =>
  tryCreateThrough<V2beta1HorizontalPodAutoscaler, V2HorizontalPodAutoscaler>(horizontalPodAutoscalerResource, given)

test('what is measured and what is wanted stood beside each other', () => {
  const cases: [V1MetricSpec, V2MetricSpec][] = [
    [
      { type: 'Resource', resource: { name: 'cpu', targetAverageUtilization: 50 } },
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
    ],
    [
      { type: 'Pods', pods: { metricName: 'm', targetAverageValue: '10' } },
      { type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '10' } } },
    ],
    [
      { type: 'Object', object: { target: scaleTargetRef, metricName: 'm', targetValue: '10' } },
      { type: 'Object', object: { describedObject: scaleTargetRef, metric: { name: 'm' }, target: { type: 'Value', value: '10' } } },
    ],
    [
      { type: 'External', external: { metricName: 'm', targetAverageValue: '10' } },
      { type: 'External', external: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '10' } } },
    ],
  ]
  for (const [old, current] of cases) {
    const { object, shown, errors } = create(autoscaler([old]))
    assert.deepEqual([errors, object.spec.metrics, shown.spec.metrics], [[], [current], [old]])
    assert.equal(object.metadata.annotations, undefined)
  }
})

test('behavior is an annotation', () => {
  const behavior = '{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":60,"SelectPolicy":null,"Policies":null,"Tolerance":null}}'
  const annotations = { 'autoscaling.alpha.kubernetes.io/behavior': behavior }
  const cpu = { type: 'Resource', resource: { name: 'cpu', targetAverageUtilization: 50 } }
  const { object, shown } = create(autoscaler([cpu], annotations))
  assert.equal(object.spec.behavior?.scaleDown?.stabilizationWindowSeconds, 60)
  assert.match(shown.metadata.annotations?.['autoscaling.alpha.kubernetes.io/behavior'] ?? '', /"StabilizationWindowSeconds":60/)
})
