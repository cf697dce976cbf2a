import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromV2, toV2 } from '#api/autoscaling/v1/convert-autoscaler.ts'
import type { V1HorizontalPodAutoscaler } from '#api/autoscaling/v1/types.gen.ts'
import type { V2HorizontalPodAutoscaler, V2MetricSpec, V2MetricStatus } from '#api/autoscaling/v2/types.gen.ts'
import { type Random, seededRandom } from '#base/random.ts'

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }
const behaviorAnnotation = 'autoscaling.alpha.kubernetes.io/behavior'

test('the CPU that v1 knows of is a metric of v2', () => {
  const v1: V1HorizontalPodAutoscaler = {
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'a' },
    spec: { scaleTargetRef, maxReplicas: 3, targetCPUUtilizationPercentage: 70 },
  }
  const v2 = toV2(structuredClone(v1))
  assert.equal(v2.apiVersion, 'autoscaling/v2')
  assert.deepEqual(v2.spec.metrics, [
    { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } },
  ])
  assert.deepEqual(fromV2(v2), { ...v1, status: { currentReplicas: 0, desiredReplicas: 0 } })
})

test('who says nothing gets eighty percent', () => {
  const spec = toV2({ metadata: {}, spec: { scaleTargetRef, maxReplicas: 3 } }).spec
  assert.equal(spec.metrics?.[0]?.resource?.target.averageUtilization, 80)
})

test('an annotation that cannot be read is none', () => {
  const annotations = { 'autoscaling.alpha.kubernetes.io/metrics': 'nope', keep: 'me' }
  const v2 = toV2({ metadata: { annotations }, spec: { scaleTargetRef, maxReplicas: 3 } })
  assert.deepEqual([v2.metadata.annotations, v2.spec.metrics?.length], [{ keep: 'me' }, 1])
})

test('what v1 does not know is kept in annotations, in upstream’s words', () => {
  const v1 = fromV2({
    metadata: { name: 'a' },
    spec: {
      scaleTargetRef,
      maxReplicas: 3,
      metrics: [{ type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '10' } } }],
      behavior: { scaleDown: { selectPolicy: 'Max', policies: [{ type: 'Pods', value: 1, periodSeconds: 15 }] } },
    },
    status: {
      currentReplicas: 1,
      desiredReplicas: 1,
      conditions: [{ type: 'AbleToScale', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'R', message: '' }],
    },
  })
  assert.deepEqual(v1.metadata.annotations, {
    'autoscaling.alpha.kubernetes.io/metrics': '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"10"}}]',
    [behaviorAnnotation]:
      '{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":15}],"Tolerance":null}}',
    'autoscaling.alpha.kubernetes.io/conditions':
      '[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"R"}]',
  })
})

const pick = <T>(random: Random, values: readonly T[]): T => values[random.int(values.length)] as T

function randomMetric(random: Random): V2MetricSpec {
  const metric = { name: `m${random.int(9)}`, ...(random.int(2) && { selector: { matchLabels: { a: 'b' } } }) }
  const value = String(1 + random.int(99))
  const usage = random.int(2)
    ? { type: 'Utilization', averageUtilization: 1 + random.int(99) }
    : { type: 'AverageValue', averageValue: value }
  switch (random.int(5)) {
    case 0:
      return { type: 'Pods', pods: { metric, target: { type: 'AverageValue', averageValue: value } } }
    case 1:
      return { type: 'Resource', resource: { name: 'memory', target: usage } }
    case 2:
      return { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'c', target: usage } }
    case 3:
      return { type: 'External', external: { metric, target: { type: 'Value', value } } }
    default:
      return { type: 'Object', object: { describedObject: scaleTargetRef, target: { type: 'Value', value }, metric } }
  }
}

function randomStatus(random: Random): V2MetricStatus {
  const averageValue = String(random.int(99))
  if (random.int(2)) return { type: 'Pods', pods: { metric: { name: 'm' }, current: { averageValue } } }
  return { type: 'Resource', resource: { name: 'cpu', current: { averageValue, averageUtilization: random.int(99) } } }
}

test('whatever goes to v1 comes back unchanged', () => {
  const seed = 20260101
  const random = seededRandom(seed)
  for (let round = 0; round < 2000; round++) {
    const cpu: V2MetricSpec = {
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 1 + random.int(99) } },
    }
    const others = Array.from({ length: random.int(4) }, () => randomMetric(random))
    const rules = { selectPolicy: pick(random, ['Max', 'Min']), policies: [{ type: 'Pods', value: 1 + random.int(9), periodSeconds: 15 }] }
    const v2: V2HorizontalPodAutoscaler = {
      apiVersion: 'autoscaling/v2',
      metadata: { name: 'a', ...(random.int(2) && { annotations: { a: 'b' } }) },
      spec: {
        scaleTargetRef,
        minReplicas: 1,
        maxReplicas: random.int(99),
        // v1 has room for one figure of CPU, and puts it last.
        metrics: random.int(2) || others.length === 0 ? [...others, cpu] : others,
        ...(random.int(2) && { behavior: { scaleUp: rules, ...(random.int(2) && { scaleDown: { ...rules, tolerance: '100m' } }) } }),
      },
      status: {
        currentReplicas: random.int(9),
        desiredReplicas: random.int(9),
        ...(random.int(2) && { currentMetrics: [randomStatus(random)] }),
      },
    }
    assert.deepEqual(toV2(fromV2(structuredClone(v2))), v2, `seed ${seed}, round ${round}`)
  }
})
