/** Rules for what a job says about pods that fail, and about when it has succeeded. */
import { countIndexes } from '#api/batch/v1/job-indexes.ts'
import type {
  V1JobSpec,
  V1PodFailurePolicy,
  V1PodFailurePolicyOnExitCodesRequirement,
  V1PodFailurePolicyOnPodConditionsPattern,
  V1PodFailurePolicyRule,
  V1SuccessPolicy,
  V1SuccessPolicyRule,
} from '#api/batch/v1/types.gen.ts'
import { type Check, omittedValue, quoted } from '#api/meta/check.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { byteLength, mustBe, qualifiedName } from '#api/meta/names.ts'

const maxFailureRules = 20
const maxExitCodes = 255
const maxConditionPatterns = 20
const maxSuccessRules = 20
const maxSucceededIndexesBytes = 64 * 1024

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore']
const operators = ['In', 'NotIn']
const statuses = ['False', 'True', 'Unknown']

const oneOf = (values: readonly string[]) => `valid values: [${values.map(quoted).join(' ')}]`

/** `check` stands at the policy. */
export function validatePodFailurePolicy(spec: V1JobSpec, check: Check<V1PodFailurePolicy | undefined>): void {
  const rules = spec.podFailurePolicy?.rules ?? []
  if (rules.length > maxFailureRules) check.at('rules').tooMany(rules.length, maxFailureRules)
  const podSpec = spec.template.spec
  const containers = new Set<string>()
  for (const { name } of podSpec?.containers ?? []) containers.add(name)
  for (const { name } of podSpec?.initContainers ?? []) containers.add(name)
  rules.forEach((rule, index) => {
    validateFailureRule(check.at('rules').at(index).with(rule), spec, containers)
  })
}

function validateFailureRule(check: Check<V1PodFailurePolicyRule>, spec: V1JobSpec, containers: ReadonlySet<string>): void {
  const rule = check.value
  const { action, onExitCodes, onPodConditions = [] } = rule
  if (!action) check.at('action').required(oneOf(actions))
  else if (action === 'FailIndex') {
    if (spec.backoffLimitPerIndex === undefined) check.at('action').invalid('requires the backoffLimitPerIndex to be set')
  } else if (!actions.includes(action)) check.at('action').notSupported(actions)
  if (onExitCodes) validateExitCodes(check.at('onExitCodes').present, containers)
  validatePodConditions(check.at('onPodConditions').or([]))
  if (onExitCodes && onPodConditions.length > 0) {
    check.invalid('specifying both OnExitCodes and OnPodConditions is not supported', omittedValue)
  }
  if (!onExitCodes && onPodConditions.length === 0) {
    check.invalid('specifying one of OnExitCodes and OnPodConditions is required', omittedValue)
  }
}

function validatePodConditions(check: Check<readonly V1PodFailurePolicyOnPodConditionsPattern[]>): void {
  const patterns = check.value
  if (patterns.length > maxConditionPatterns) check.tooMany(patterns.length, maxConditionPatterns)
  patterns.forEach(({ status }, index) => {
    const at = check.at(index)
    mustBe(qualifiedName, at.at('type').or(''))
    if (!status) at.at('status').required(oneOf(statuses))
    else if (!statuses.includes(status)) at.at('status').notSupported(statuses)
  })
}

function validateExitCodes(check: Check<V1PodFailurePolicyOnExitCodesRequirement>, containers: ReadonlySet<string>): void {
  const codes = check.value
  const { operator, containerName } = codes
  if (!operator) check.at('operator').required(oneOf(operators))
  else if (!operators.includes(operator)) check.at('operator').notSupported(operators)
  if (containerName !== undefined && !containers.has(containerName)) {
    check.at('containerName').invalid('must be one of the container or initContainer names in the pod template')
  }
  const values = codes.values ?? []
  const at = check.at('values')
  if (values.length === 0) at.invalid('at least one value is required')
  else if (values.length > maxExitCodes) at.tooMany(values.length, maxExitCodes)
  const seen = new Set<number>()
  let isOrdered = true
  values.forEach((value, index) => {
    if (operator === 'In' && value === 0) at.at(index).invalid('must not be 0 for the In operator')
    if (seen.has(value)) at.at(index).duplicate()
    seen.add(value)
    if (index > 0 && (values[index - 1] ?? 0) > value) isOrdered = false
  })
  if (!isOrdered) at.or([]).invalid('must be ordered')
}

/** `check` stands at the policy; the job is an indexed one. */
export function validateSuccessPolicy(spec: V1JobSpec, check: Check<V1SuccessPolicy | undefined>): void {
  const rules = spec.successPolicy?.rules ?? []
  if (rules.length === 0) check.at('rules').required('at least one rules must be specified when the successPolicy is specified')
  if (rules.length > maxSuccessRules) check.at('rules').tooMany(rules.length, maxSuccessRules)
  rules.forEach((rule, index) => {
    validateSuccessRule(check.at('rules').at(index).with(rule), spec.completions ?? 0)
  })
}

function validateSuccessRule(check: Check<V1SuccessPolicyRule>, completions: number): void {
  const { succeededIndexes, succeededCount } = check.value
  if (succeededCount === undefined && succeededIndexes === undefined) {
    check.required('at least one of succeededCount or succeededIndexes must be specified')
  }
  let indexes = 0
  if (succeededIndexes !== undefined) {
    const at = check.at('succeededIndexes')
    if (byteLength(succeededIndexes) > maxSucceededIndexesBytes) at.tooLong(maxSucceededIndexesBytes)
    try {
      indexes = countIndexes(succeededIndexes, completions)
    } catch (error) {
      at.invalid(`error parsing succeededIndexes: ${(error as Error).message}`)
    }
  }
  if (succeededCount === undefined) return
  const at = check.at('succeededCount')
  nonNegative(at)
  if (succeededCount > completions) {
    at.invalid(`must be less than or equal to ${completions} (the number of specified completions)`)
  }
  if (succeededIndexes !== undefined && succeededCount > indexes) {
    at.invalid(`must be less than or equal to ${indexes} (the number of indexes in the specified succeededIndexes field)`)
  }
}
