import { HorizontalPodAutoscaler } from '#api/autoscaling/v2/kinds.gen.ts'
import { targetsCell } from '#api/autoscaling/v2/targets-cell.ts'
import type { V2HorizontalPodAutoscaler, V2HorizontalPodAutoscalerSpec, V2HPAScalingRules } from '#api/autoscaling/v2/types.gen.ts'
import { autoscalerOptions, validateAutoscalerSpec } from '#api/autoscaling/v2/validate-autoscaler.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { nonNegative } from '#api/meta/formats.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'

/** How much of its request a pod uses, in percent, when nobody says what to look at. */
export const defaultCpuUtilization = 80

/** Where versions that lack a field keep it; this one lacks none and keeps them clean. */
export const roundTripAnnotations = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  currentMetrics: 'autoscaling.alpha.kubernetes.io/current-metrics',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
  scaleDownTolerance: 'autoscaling.alpha.kubernetes.io/scale-down-tolerance',
  scaleUpTolerance: 'autoscaling.alpha.kubernetes.io/scale-up-tolerance',
}

export const horizontalPodAutoscalerResource = defineResource(HorizontalPodAutoscaler, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',

  defaults(autoscaler) {
    autoscaler.spec ??= {} as V2HorizontalPodAutoscalerSpec
    const { spec } = autoscaler
    spec.minReplicas ??= 1
    if (!spec.metrics?.length) {
      const target = { type: 'Utilization', averageUtilization: defaultCpuUtilization }
      spec.metrics = [{ type: 'Resource', resource: { name: 'cpu', target } }]
    }
    if (spec.behavior) {
      spec.behavior.scaleUp = withDefaultRules(spec.behavior.scaleUp, 0, [
        { type: 'Pods', value: 4, periodSeconds: 15 },
        { type: 'Percent', value: 100, periodSeconds: 15 },
      ])
      spec.behavior.scaleDown = withDefaultRules(spec.behavior.scaleDown, undefined, [{ type: 'Percent', value: 100, periodSeconds: 15 }])
    }
    dropRoundTripAnnotations(autoscaler.metadata)
  },

  prepareForCreate(autoscaler, context) {
    dropDisabledTolerance(autoscaler, undefined, context)
  },
  validate(autoscaler, check, context) {
    validateAutoscalerSpec(check.at('spec'), autoscalerOptions(autoscaler, undefined, context))
  },

  prepareForUpdate(next, prev, context) {
    dropDisabledTolerance(next, prev, context)
  },
  validateUpdate(next, prev, check, context) {
    validateAutoscalerSpec(check.at('spec'), autoscalerOptions(next, prev, context))
  },

  subresources: {
    status: {
      validateUpdate(_next, _prev, check) {
        nonNegative(check.at('status').at('currentReplicas'))
        nonNegative(check.at('status').at('desiredReplicas'))
      },
    },
  },

  columns: [
    nameColumn,
    {
      name: 'Reference',
      type: 'string',
      description: { field: 'HorizontalPodAutoscalerSpec.scaleTargetRef' },
      cell: ({ spec }) => `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`,
    },
    {
      name: 'Targets',
      type: 'string',
      description: { field: 'HorizontalPodAutoscalerSpec.metrics' },
      cell: ({ spec, status }) => targetsCell(spec.metrics ?? [], status?.currentMetrics ?? []),
    },
    {
      name: 'MinPods',
      type: 'string',
      description: { field: 'HorizontalPodAutoscalerSpec.minReplicas' },
      cell: ({ spec }) => String(spec.minReplicas ?? '<unset>'),
    },
    {
      name: 'MaxPods',
      type: 'string',
      description: { field: 'HorizontalPodAutoscalerSpec.maxReplicas' },
      cell: ({ spec }) => spec.maxReplicas,
    },
    {
      name: 'Replicas',
      type: 'string',
      description: { field: 'HorizontalPodAutoscalerStatus.currentReplicas' },
      cell: ({ status }) => status?.currentReplicas ?? 0,
    },
    ageColumn,
  ],
})

function withDefaultRules(
  rules: V2HPAScalingRules | undefined,
  stabilizationWindowSeconds: number | undefined,
  policies: NonNullable<V2HPAScalingRules['policies']>,
): V2HPAScalingRules {
  const filled = rules ?? {}
  filled.selectPolicy ??= 'Max'
  if (stabilizationWindowSeconds !== undefined) filled.stabilizationWindowSeconds ??= stabilizationWindowSeconds
  filled.policies ??= policies
  return filled
}

export function dropRoundTripAnnotations({ annotations }: V1ObjectMeta): void {
  if (!annotations) return
  for (const name of Object.values(roundTripAnnotations)) delete annotations[name]
}

function dropDisabledTolerance(
  next: V2HorizontalPodAutoscaler,
  prev: V2HorizontalPodAutoscaler | undefined,
  { isEnabled }: RuleContext,
): void {
  if (isEnabled('HPAConfigurableTolerance') || hasTolerance(prev)) return
  delete next.spec.behavior?.scaleDown?.tolerance
  delete next.spec.behavior?.scaleUp?.tolerance
}

function hasTolerance(autoscaler: V2HorizontalPodAutoscaler | undefined): boolean {
  const behavior = autoscaler?.spec.behavior
  return behavior?.scaleDown?.tolerance !== undefined || behavior?.scaleUp?.tolerance !== undefined
}
