import { behaviorText, parsedBehavior } from '#api/autoscaling/v1/convert-autoscaler.ts'
import { metricFromV2, metricStatusFromV2, metricStatusToV2, metricToV2 } from '#api/autoscaling/v1/convert-metric.ts'
import type { V1MetricSpec, V1MetricStatus } from '#api/autoscaling/v1/types.gen.ts'
import {
  horizontalPodAutoscalerResource as horizontalPodAutoscalerV2,
  roundTripAnnotations,
} from '#api/autoscaling/v2/horizontal-pod-autoscaler.ts'
import type {
  V2HorizontalPodAutoscaler,
  V2HorizontalPodAutoscalerSpec,
  V2HorizontalPodAutoscalerStatus,
} from '#api/autoscaling/v2/types.gen.ts'
import { setAnnotation, takeAnnotation } from '#api/meta/annotations.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import { writeTypes } from '#api/schema/written-types.ts'
import { defined } from '#base/defined.ts'

/** Metrics are as autoscaling/v1 writes them into annotations. */
export type V2beta1HorizontalPodAutoscaler = Omit<V2HorizontalPodAutoscaler, 'spec' | 'status'> & {
  spec: Omit<V2HorizontalPodAutoscalerSpec, 'metrics' | 'behavior'> & { metrics?: V1MetricSpec[] }
  status?: Omit<V2HorizontalPodAutoscalerStatus, 'currentMetrics'> & { currentMetrics: V1MetricStatus[] | null }
}

const typeName = writeTypes({
  package: 'io.k8s.api.autoscaling.v2beta1',
  group: 'autoscaling',
  version: 'v2beta1',
  text: `
kind HorizontalPodAutoscaler
  spec Spec @.HorizontalPodAutoscalerSpec o 2
  status Status @.HorizontalPodAutoscalerStatus o 3
HorizontalPodAutoscalerSpec like autoscaling.v2 without behavior
HorizontalPodAutoscalerStatus like autoscaling.v2
  currentReplicas CurrentReplicas i r 3
HorizontalPodAutoscalerCondition,CrossVersionObjectReference like autoscaling.v2
MetricSpec,MetricStatus like autoscaling.v1
ExternalMetricSource,ObjectMetricSource,PodsMetricSource,ResourceMetricSource like autoscaling.v1
ExternalMetricStatus,ObjectMetricStatus,PodsMetricStatus,ResourceMetricStatus,ContainerResourceMetricStatus like autoscaling.v1
ContainerResourceMetricSource like autoscaling.v1
  container Container s r 4
`,
})

export const horizontalPodAutoscalerResource = legacyVersion<V2beta1HorizontalPodAutoscaler, V2HorizontalPodAutoscaler>(
  horizontalPodAutoscalerV2,
  {
    version: 'v2beta1',
    schema: typeName('HorizontalPodAutoscaler'),
    deprecated: { deprecatedIn: '1.22', removedIn: '1.25' },

    toStored({ spec, status, ...autoscaler }) {
      autoscaler.metadata ??= {}
      const behavior = parsedBehavior(takeAnnotation(autoscaler.metadata, roundTripAnnotations.behavior))
      return {
        ...autoscaler,
        spec: { ...spec, ...defined({ metrics: spec?.metrics?.map(metricToV2), behavior }) },
        ...(status && { status: { ...status, ...withMetrics(status.currentMetrics, metricStatusToV2) } }),
      } as V2HorizontalPodAutoscaler
    },
    fromStored({ spec: { behavior, ...spec }, status, ...autoscaler }) {
      setAnnotation(autoscaler.metadata, roundTripAnnotations.behavior, behavior && behaviorText(behavior))
      return {
        ...autoscaler,
        spec: { ...spec, ...defined({ metrics: spec.metrics?.map(metricFromV2) }) },
        ...(status && { status: { ...status, ...withMetrics(status.currentMetrics, metricStatusFromV2) } }),
      } as V2beta1HorizontalPodAutoscaler
    },
  },
)

function withMetrics<From, To>(metrics: From[] | null | undefined, converted: (metric: From) => To): { currentMetrics?: To[] } {
  return metrics == null ? {} : { currentMetrics: metrics.map(converted) }
}
