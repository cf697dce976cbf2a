import { fromV2, toV2 } from '#api/autoscaling/v1/convert-autoscaler.ts'
import { HorizontalPodAutoscaler } from '#api/autoscaling/v1/kinds.gen.ts'
import type { V1HorizontalPodAutoscalerSpec } from '#api/autoscaling/v1/types.gen.ts'
import { horizontalPodAutoscalerResource as horizontalPodAutoscalerV2 } from '#api/autoscaling/v2/horizontal-pod-autoscaler.ts'
import { defineResource } from '#api/resource.ts'

/** Knows of CPU only; whatever else a newer client asked for is kept in annotations. */
export const horizontalPodAutoscalerResource = defineResource(HorizontalPodAutoscaler, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  storedAs: { definition: horizontalPodAutoscalerV2, toStored: toV2, fromStored: fromV2 },

  defaults(autoscaler) {
    autoscaler.spec ??= {} as V1HorizontalPodAutoscalerSpec
    autoscaler.spec.minReplicas ??= 1
  },
})
