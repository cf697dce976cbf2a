import { horizontalPodAutoscalerResource } from '#api/autoscaling/v2/horizontal-pod-autoscaler.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const autoscalingV2: readonly ResourceDefinition[] = [horizontalPodAutoscalerResource]
