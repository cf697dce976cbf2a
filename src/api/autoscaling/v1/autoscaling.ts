import { horizontalPodAutoscalerResource } from '#api/autoscaling/v1/horizontal-pod-autoscaler.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const autoscalingV1: readonly ResourceDefinition[] = [horizontalPodAutoscalerResource]
