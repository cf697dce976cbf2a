import { horizontalPodAutoscalerResource } from '#api/autoscaling/v2beta1/horizontal-pod-autoscaler.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const autoscalingV2beta1: readonly ResourceDefinition[] = [horizontalPodAutoscalerResource]
