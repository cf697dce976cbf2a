import { fromV2, toV2 } from '#api/autoscaling/v1/convert-autoscaler.ts'
import type { V1HorizontalPodAutoscaler } from '#api/autoscaling/v1/types.gen.ts'
import { horizontalPodAutoscalerResource as horizontalPodAutoscalerV2 } from '#api/autoscaling/v2/horizontal-pod-autoscaler.ts'
import type { V2HorizontalPodAutoscaler } from '#api/autoscaling/v2/types.gen.ts'
import { typeName, type V1beta1HorizontalPodAutoscaler } from '#api/extensions/v1beta1/older-types.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'

/** As autoscaling/v1, which came after it, with the names of three fields changed. */
export const horizontalPodAutoscalerResource = legacyVersion<V1beta1HorizontalPodAutoscaler, V2HorizontalPodAutoscaler>(
  horizontalPodAutoscalerV2,
  {
    group: 'extensions',
    version: 'v1beta1',
    schema: typeName('HorizontalPodAutoscaler'),
    shortNames: [],
    categories: [],
    deprecated: { deprecatedIn: '1.2', removedIn: '1.8' },

    defaults({ spec }) {
      if (spec === undefined) return
      spec.minReplicas ??= 1
      spec.cpuUtilization ??= { targetPercentage: 80 }
    },
    toStored(autoscaler) {
      const { scaleRef = {}, cpuUtilization, ...spec } = autoscaler.spec ?? {}
      const { subresource: _, ...scaleTargetRef } = scaleRef
      const cpu = cpuUtilization && { targetCPUUtilizationPercentage: cpuUtilization.targetPercentage }
      return toV2({ ...autoscaler, spec: { ...spec, ...cpu, scaleTargetRef } } as V1HorizontalPodAutoscaler)
    },
    fromStored(autoscaler) {
      const converted = fromV2(autoscaler)
      const { scaleTargetRef, targetCPUUtilizationPercentage: targetPercentage, ...spec } = converted.spec
      const cpu = targetPercentage === undefined ? {} : { cpuUtilization: { targetPercentage } }
      return { ...converted, spec: { ...spec, ...cpu, scaleRef: { ...scaleTargetRef, subresource: 'scale' } } }
    },
  },
)
