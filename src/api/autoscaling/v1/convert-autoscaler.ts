/** Autoscalers between v1 and v2. What v1 cannot say goes into annotations, as JSON of v1's own types (of upstream's, for the behavior). */
import { metricFromV2, metricStatusFromV2, metricStatusToV2, metricToV2 } from '#api/autoscaling/v1/convert-metric.ts'
import type {
  V1HorizontalPodAutoscaler,
  V1HorizontalPodAutoscalerCondition,
  V1HorizontalPodAutoscalerStatus,
  V1MetricSpec,
  V1MetricStatus,
} from '#api/autoscaling/v1/types.gen.ts'
import { defaultCpuUtilization, dropRoundTripAnnotations, roundTripAnnotations } from '#api/autoscaling/v2/horizontal-pod-autoscaler.ts'
import type {
  V2HorizontalPodAutoscaler,
  V2HorizontalPodAutoscalerBehavior,
  V2HorizontalPodAutoscalerSpec,
  V2HorizontalPodAutoscalerStatus,
  V2HPAScalingRules,
  V2MetricSpec,
} from '#api/autoscaling/v2/types.gen.ts'
import { asInternal } from '#api/meta/quote-internal.ts'

export function toV2(object: V1HorizontalPodAutoscaler): V2HorizontalPodAutoscaler {
  const { metadata, spec, status } = object
  const annotations = metadata.annotations ?? {}
  const converted: V2HorizontalPodAutoscaler = {
    ...object,
    apiVersion: 'autoscaling/v2',
    metadata: { ...metadata },
    spec: specToV2(spec, annotations),
  } as V2HorizontalPodAutoscaler
  const convertedStatus = statusToV2(status, annotations)
  if (convertedStatus) converted.status = convertedStatus
  else delete converted.status
  if (metadata.annotations) {
    converted.metadata.annotations = { ...metadata.annotations }
    dropRoundTripAnnotations(converted.metadata)
    if (Object.keys(converted.metadata.annotations).length === 0) delete converted.metadata.annotations
  }
  return converted
}

function specToV2(spec: V1HorizontalPodAutoscaler['spec'], annotations: Record<string, string>): V2HorizontalPodAutoscalerSpec {
  const { targetCPUUtilizationPercentage, ...shared } = spec
  const converted: V2HorizontalPodAutoscalerSpec = { ...shared }
  const cpu = targetCPUUtilizationPercentage === undefined ? [] : [cpuMetric(targetCPUUtilizationPercentage)]
  const others = parsed<V1MetricSpec[]>(annotations[roundTripAnnotations.metrics])
  const metrics = Array.isArray(others) ? [...others.map(metricToV2), ...cpu] : cpu
  converted.metrics = metrics.length > 0 ? metrics : [cpuMetric(defaultCpuUtilization)]
  const behavior = parsedBehavior(annotations[roundTripAnnotations.behavior])
  if (behavior) converted.behavior = behavior
  return converted
}

function cpuMetric(averageUtilization: number): V2MetricSpec {
  return { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } }
}

function statusToV2(
  status: V1HorizontalPodAutoscalerStatus | undefined,
  annotations: Record<string, string>,
): V2HorizontalPodAutoscalerStatus | undefined {
  const metrics = parsed<V1MetricStatus[]>(annotations[roundTripAnnotations.currentMetrics])
  const conditions = parsed<V1HorizontalPodAutoscalerCondition[]>(annotations[roundTripAnnotations.conditions])
  if (!status && !metrics && !conditions) return undefined
  const { currentCPUUtilizationPercentage, ...shared } = status ?? { currentReplicas: 0, desiredReplicas: 0 }
  const converted: V2HorizontalPodAutoscalerStatus = { ...shared }
  if (Array.isArray(metrics)) converted.currentMetrics = metrics.map(metricStatusToV2)
  else if (currentCPUUtilizationPercentage !== undefined) {
    const current = { averageUtilization: currentCPUUtilizationPercentage }
    converted.currentMetrics = [{ type: 'Resource', resource: { name: 'cpu', current } }]
  }
  if (Array.isArray(conditions)) converted.conditions = conditions
  return converted
}

export function fromV2(object: V2HorizontalPodAutoscaler): V1HorizontalPodAutoscaler {
  const { metadata, status } = object
  const { metrics = [], behavior, ...shared } = object.spec
  const { currentMetrics: measured, conditions, ...sharedStatus } = status ?? { currentReplicas: 0, desiredReplicas: 0 }
  const currentMetrics = measured ?? []
  const converted: V1HorizontalPodAutoscaler = {
    ...object,
    apiVersion: 'autoscaling/v1',
    metadata: { ...metadata, annotations: { ...metadata.annotations } },
    spec: { ...shared },
    status: { ...sharedStatus, currentReplicas: status?.currentReplicas ?? 0, desiredReplicas: status?.desiredReplicas ?? 0 },
  } as V1HorizontalPodAutoscaler
  dropRoundTripAnnotations(converted.metadata)
  const cpu = metrics.find(isCpuUtilization)?.resource?.target.averageUtilization
  if (cpu !== undefined) converted.spec.targetCPUUtilizationPercentage = cpu
  for (const { type, resource } of currentMetrics) {
    const usage = type === 'Resource' && resource?.name === 'cpu' ? resource.current.averageUtilization : undefined
    if (usage !== undefined && converted.status) converted.status.currentCPUUtilizationPercentage = usage
  }

  const annotations = converted.metadata.annotations ?? {}
  const others = metrics.filter((metric) => !isCpuUtilization(metric))
  if (others.length > 0) annotations[roundTripAnnotations.metrics] = JSON.stringify(others.map(metricFromV2))
  if (currentMetrics.length > 0) annotations[roundTripAnnotations.currentMetrics] = JSON.stringify(currentMetrics.map(metricStatusFromV2))
  if (behavior) annotations[roundTripAnnotations.behavior] = behaviorText(behavior)
  if (conditions?.length) annotations[roundTripAnnotations.conditions] = JSON.stringify(conditions.map(conditionText))
  if (Object.keys(annotations).length === 0) delete converted.metadata.annotations
  return converted
}

export function behaviorText(behavior: V2HorizontalPodAutoscalerBehavior): string {
  return JSON.stringify(asInternal('autoscaling.HorizontalPodAutoscalerBehavior', behavior))
}

function isCpuUtilization({ type, resource }: V2MetricSpec): boolean {
  return type === 'Resource' && resource?.name === 'cpu' && resource.target.averageUtilization !== undefined
}

/** With its fields in upstream's order, without the empty ones. */
function conditionText({ type, status, lastTransitionTime = null, reason, message }: V1HorizontalPodAutoscalerCondition): unknown {
  return { type, status, lastTransitionTime, reason: reason || undefined, message: message || undefined }
}

/** Annotations are anybody's to write: what cannot be read is as good as absent. */
function parsed<T>(text: string | undefined): T | undefined {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as T
  } catch {
    return undefined
  }
}

/** The behavior an annotation stands for. */
export function parsedBehavior(text: string | undefined): V2HorizontalPodAutoscalerBehavior | undefined {
  const fields = lowered(parsed<unknown>(text)) as { scaleup?: V2HPAScalingRules; scaledown?: V2HPAScalingRules } | undefined
  if (!fields?.scaleup && !fields?.scaledown) return undefined
  const behavior: V2HorizontalPodAutoscalerBehavior = {}
  if (fields.scaleup) behavior.scaleUp = rulesOf(fields.scaleup)
  if (fields.scaledown) behavior.scaleDown = rulesOf(fields.scaledown)
  return behavior
}

type Lowered = {
  stabilizationwindowseconds?: number
  selectpolicy?: string
  policies?: { type?: string; value?: number; periodseconds?: number }[]
  tolerance?: string
}

function rulesOf(lowered: unknown): V2HPAScalingRules {
  const { stabilizationwindowseconds, selectpolicy, policies, tolerance } = lowered as Lowered
  const rules: V2HPAScalingRules = {}
  if (stabilizationwindowseconds !== undefined) rules.stabilizationWindowSeconds = stabilizationwindowseconds
  if (selectpolicy !== undefined) rules.selectPolicy = selectpolicy
  if (policies)
    rules.policies = policies.map(({ type = '', value = 0, periodseconds = 0 }) => ({ type, value, periodSeconds: periodseconds }))
  if (tolerance !== undefined) rules.tolerance = tolerance
  return rules
}

/** Upstream reads this one without regard to case, and drops nulls. */
function lowered(value: unknown): unknown {
  if (value === null) return undefined
  if (Array.isArray(value)) return value.map(lowered)
  if (typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key.toLowerCase(), lowered(each)]))
}
