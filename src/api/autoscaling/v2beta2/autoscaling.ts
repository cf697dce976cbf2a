import { horizontalPodAutoscalerResource as horizontalPodAutoscalerV2 } from '#api/autoscaling/v2/horizontal-pod-autoscaler.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { writeTypes } from '#api/schema/written-types.ts'

const typeName = writeTypes({
  package: 'io.k8s.api.autoscaling.v2beta2',
  group: 'autoscaling',
  version: 'v2beta2',
  text: `
kind HorizontalPodAutoscaler
  spec Spec @.HorizontalPodAutoscalerSpec o 2
  status Status @.HorizontalPodAutoscalerStatus o 3
HorizontalPodAutoscalerStatus like autoscaling.v2
  currentReplicas CurrentReplicas i r 3
HorizontalPodAutoscalerSpec,HorizontalPodAutoscalerBehavior,HorizontalPodAutoscalerCondition like autoscaling.v2
HPAScalingRules,HPAScalingPolicy,CrossVersionObjectReference like autoscaling.v2
MetricSpec,MetricIdentifier,MetricTarget,MetricStatus,MetricValueStatus like autoscaling.v2
ContainerResourceMetricSource,ExternalMetricSource,ObjectMetricSource,PodsMetricSource,ResourceMetricSource like autoscaling.v2
ContainerResourceMetricStatus,ExternalMetricStatus,ObjectMetricStatus,PodsMetricStatus,ResourceMetricStatus like autoscaling.v2
`,
})

export const autoscalingV2beta2: readonly ResourceDefinition[] = [
  legacyVersion(horizontalPodAutoscalerV2, {
    version: 'v2beta2',
    schema: typeName('HorizontalPodAutoscaler'),
    deprecated: { deprecatedIn: '1.23', removedIn: '1.26' },
  }),
]
