/** Rules of an autoscaler's spec. Every served version is validated in this shape, so that messages name its fields. */
import type {
  V2HorizontalPodAutoscaler,
  V2HorizontalPodAutoscalerSpec,
  V2HPAScalingPolicy,
  V2HPAScalingRules,
} from '#api/autoscaling/v2/types.gen.ts'
import { validateMetric } from '#api/autoscaling/v2/validate-metric.ts'
import { apiVersionProblem, type ReferenceOptions, validateReference } from '#api/autoscaling/v2/validate-reference.ts'
import type { Check } from '#api/meta/check.ts'
import { mustBeNonNegative } from '#api/meta/formats.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import type { RuleContext } from '#api/resource.ts'

const maxPeriodSeconds = 1800
const maxStabilizationWindowSeconds = 3600

type AutoscalerOptions = { minReplicas: 0 | 1; scaleTarget: ReferenceOptions; describedObject: ReferenceOptions }

/** What an update may leave wrong, because the stored object has it. */
export function autoscalerOptions(
  next: V2HorizontalPodAutoscaler,
  prev: V2HorizontalPodAutoscaler | undefined,
  { isEnabled }: RuleContext,
): AutoscalerOptions {
  const target = next.spec.scaleTargetRef
  const before = prev?.spec.scaleTargetRef
  const sameTarget = before !== undefined && before.apiVersion === target?.apiVersion && before.kind === target?.kind
  const describedObject = { allowEmptyGroup: true, allowInvalidApiVersion: false }
  describedObject.allowInvalidApiVersion =
    prev?.spec.metrics?.some(
      ({ type, object }) => type === 'Object' && object && apiVersionProblem(object.describedObject, describedObject) !== undefined,
    ) ?? false
  return {
    minReplicas: isEnabled('HPAScaleToZero') || prev?.spec.minReplicas === 0 ? 0 : 1,
    scaleTarget: { allowEmptyGroup: !sameTarget && target?.kind === 'ReplicationController', allowInvalidApiVersion: sameTarget },
    describedObject,
  }
}

/** `check` stands at the spec. */
export function validateAutoscalerSpec(check: Check<V2HorizontalPodAutoscalerSpec>, options: AutoscalerOptions): void {
  const spec = check.value
  const { minReplicas, maxReplicas = 0, behavior } = spec
  if (minReplicas !== undefined && minReplicas < options.minReplicas) {
    check.at('minReplicas').invalid(`must be greater than or equal to ${options.minReplicas}`)
  }
  if (maxReplicas === 0) check.at('maxReplicas').required('must be set and greater than 0')
  else if (maxReplicas < 0) check.at('maxReplicas').or(0).invalid('must be greater than or equal to 1')
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    check.at('maxReplicas').or(0).invalid('must be greater than or equal to `minReplicas`')
  }
  validateReference(check.at('scaleTargetRef').or({}), options.scaleTarget)
  check.at('metrics').each((at) => validateMetric(at, options.describedObject))
  // Without pods there is nothing to measure on them.
  if (minReplicas === 0 && !spec.metrics?.some(({ type }) => type === 'Object' || type === 'External')) {
    check.at('metrics').forbidden('must specify at least one Object or External metric to support scaling to zero replicas')
  }
  if (behavior?.scaleUp) validateScalingRules(check.at('behavior').at('scaleUp').present)
  if (behavior?.scaleDown) validateScalingRules(check.at('behavior').at('scaleDown').present)
}

function validateScalingRules(check: Check<V2HPAScalingRules>): void {
  const rules = check.value
  const { stabilizationWindowSeconds, selectPolicy, tolerance } = rules
  if (stabilizationWindowSeconds !== undefined) {
    const at = check.at('stabilizationWindowSeconds')
    if (stabilizationWindowSeconds < 0) at.invalid('must be greater than or equal to zero')
    if (stabilizationWindowSeconds > maxStabilizationWindowSeconds) {
      at.invalid(`must be less than or equal to ${maxStabilizationWindowSeconds}`)
    }
  }
  if (selectPolicy !== undefined && !['Disabled', 'Max', 'Min'].includes(selectPolicy)) {
    check.at('selectPolicy').notSupported(['Disabled', 'Max', 'Min'])
  }
  if (!rules.policies?.length) check.at('policies').required('must specify at least one Policy')
  check.at('policies').each(validateScalingPolicy)
  if (tolerance !== undefined && parseQuantity(tolerance).sign < 0) check.at('tolerance').invalid(mustBeNonNegative)
}

function validateScalingPolicy(check: Check<V2HPAScalingPolicy>): void {
  const { type = '', value = 0, periodSeconds = 0 } = check.value
  if (type !== 'Pods' && type !== 'Percent') check.at('type').or('').notSupported(['Percent', 'Pods'])
  if (value <= 0) check.at('value').or(0).invalid('must be greater than zero')
  if (periodSeconds <= 0) check.at('periodSeconds').or(0).invalid('must be greater than zero')
  if (periodSeconds > maxPeriodSeconds) {
    check.at('periodSeconds').or(0).invalid(`must be less than or equal to ${maxPeriodSeconds}`)
  }
}
