import { fromV2, toV2 } from '#api/autoscaling/v1/convert-autoscaler.ts'
import type { V1HorizontalPodAutoscaler, V1HorizontalPodAutoscalerSpec } from '#api/autoscaling/v1/types.gen.ts'
import { HorizontalPodAutoscaler as HorizontalPodAutoscalerV2 } from '#api/autoscaling/v2/horizontal-pod-autoscaler.ts'
import { defineResource } from '#api/resource.ts'

/** Knows of CPU only; whatever else a newer client asked for is kept in annotations. */
export const HorizontalPodAutoscaler = defineResource<V1HorizontalPodAutoscaler>({
  group: 'autoscaling',
  version: 'v1',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  shortNames: ['hpa'],
  categories: ['all'],
  scope: 'Namespaced',
  schema: 'io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler',
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  resetFields: ['status'],
  subresources: { status: { resetFields: ['spec'] } },
  storedAs: { definition: HorizontalPodAutoscalerV2, toStored: toV2, fromStored: fromV2 },

  defaults(autoscaler) {
    autoscaler.spec ??= {} as V1HorizontalPodAutoscalerSpec
    autoscaler.spec.minReplicas ??= 1
  },
})
