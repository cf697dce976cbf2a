/** Defaults and rules of a job's spec, alone or as a cron job's template. */
import { validatePodFailurePolicy, validateSuccessPolicy } from '#api/batch/v1/job-policies.ts'
import type { V1JobSpec } from '#api/batch/v1/types.gen.ts'
import { defaultPodTemplate } from '#api/core/v1/pod-spec/defaults.ts'
import { type PodValidationOptions, validatePodTemplate } from '#api/core/v1/pod-spec/validate-pod-template.ts'
import { podTemplateWarnings } from '#api/core/v1/pod-spec/warnings.ts'
import type { Check } from '#api/meta/check.ts'
import { domainPrefixedPath, nonNegative } from '#api/meta/formats.ts'
import { byteLength } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'

const maxIndexedParallelism = 100_000
const maxFailedIndexesLimit = 100_000
const manyCompletions = 100_000
const maxParallelismForMany = 10_000
const maxFailedIndexesForMany = 10_000
const maxManagedByBytes = 63

/** What any job spec gets, a cron job's included; the numbers of pods are filled in for jobs only. */
export function defaultJobTemplate(spec: V1JobSpec): void {
  spec.template ??= { spec: { containers: [] } }
  defaultPodTemplate(spec.template)
  for (const rule of spec.podFailurePolicy?.rules ?? []) {
    for (const pattern of rule.onPodConditions ?? []) pattern.status ||= 'True'
  }
}

/** All rules but those about the selector. `check` stands at the spec. */
export function validateJobTemplate(check: Check<V1JobSpec>, options: PodValidationOptions): void {
  const spec = check.value
  nonNegative(check.at('parallelism'))
  nonNegative(check.at('completions'))
  nonNegative(check.at('activeDeadlineSeconds'))
  nonNegative(check.at('backoffLimit'))
  nonNegative(check.at('ttlSecondsAfterFinished'))
  nonNegative(check.at('backoffLimitPerIndex'))
  if (spec.maxFailedIndexes !== undefined) {
    nonNegative(check.at('maxFailedIndexes'))
    if (spec.backoffLimitPerIndex === undefined) check.at('backoffLimitPerIndex').required('when maxFailedIndexes is specified')
  }
  if (spec.managedBy !== undefined) {
    domainPrefixedPath(check.at('managedBy').present)
    if (byteLength(spec.managedBy) > maxManagedByBytes) check.at('managedBy').tooLong(maxManagedByBytes)
  }
  validateCompletionMode(check)
  if (spec.podFailurePolicy) validatePodFailurePolicy(spec, check.at('podFailurePolicy'))
  if (spec.successPolicy) {
    if (spec.completionMode === 'Indexed') validateSuccessPolicy(spec, check.at('successPolicy'))
    else check.at('successPolicy').invalid('requires indexed completion mode', asInternal('batch.SuccessPolicy', spec.successPolicy))
  }
  validatePodReplacementPolicy(check.at('podReplacementPolicy').with(spec))
  validatePodTemplate(check.at('template'), options)
  validateRestartPolicy(check.at('template').at('spec').at('restartPolicy').with(spec))
}

function validateCompletionMode(check: Check<V1JobSpec>): void {
  const spec = check.value
  const { completionMode, backoffLimitPerIndex, maxFailedIndexes } = spec
  if (completionMode === undefined || completionMode === 'NonIndexed') {
    if (backoffLimitPerIndex !== undefined) {
      check.at('backoffLimitPerIndex').invalid('requires indexed completion mode')
    }
    if (maxFailedIndexes !== undefined) check.at('maxFailedIndexes').invalid('requires indexed completion mode')
  } else if (completionMode === 'Indexed') validateIndexed(check)
  else check.at('completionMode').notSupported(['NonIndexed', 'Indexed'])
}

function validateIndexed(check: Check<V1JobSpec>): void {
  const { completions, parallelism = 0, maxFailedIndexes, backoffLimitPerIndex } = check.value
  if (completions === undefined) check.at('completions').required('when completion mode is Indexed')
  if (parallelism > maxIndexedParallelism) {
    check.at('parallelism').or(0).invalid(`must be less than or equal to ${maxIndexedParallelism} when completion mode is Indexed`)
  }
  if (maxFailedIndexes !== undefined) {
    if (completions !== undefined && maxFailedIndexes > completions) {
      check.at('maxFailedIndexes').invalid('must be less than or equal to completions')
    }
    if (maxFailedIndexes > maxFailedIndexesLimit) {
      check.at('maxFailedIndexes').invalid(`must be less than or equal to ${maxFailedIndexesLimit}`)
    }
  }
  // The status names failed indexes one by one: with very many there must be a bound.
  if (completions === undefined || completions <= manyCompletions || backoffLimitPerIndex === undefined) return
  const condition = `when completions are above ${manyCompletions} and used with backoff limit per index`
  if (maxFailedIndexes === undefined) {
    check.at('maxFailedIndexes').required(`must be specified when completions is above ${manyCompletions}`)
  }
  if (parallelism > maxParallelismForMany) {
    check.at('parallelism').or(0).invalid(`must be less than or equal to ${maxParallelismForMany} ${condition}`)
  }
  if (maxFailedIndexes !== undefined && maxFailedIndexes > maxFailedIndexesForMany) {
    check.at('maxFailedIndexes').invalid(`must be less than or equal to ${maxFailedIndexesForMany} ${condition}`)
  }
}

function validatePodReplacementPolicy(check: Check<V1JobSpec>): void {
  const { podReplacementPolicy, podFailurePolicy } = check.value
  if (podReplacementPolicy === undefined || podReplacementPolicy === 'Failed') return
  if (podFailurePolicy) check.notSupported(['Failed'], podReplacementPolicy)
  else if (podReplacementPolicy !== 'TerminatingOrFailed') check.notSupported(['Failed', 'TerminatingOrFailed'], podReplacementPolicy)
}

function validateRestartPolicy(check: Check<V1JobSpec>): void {
  const { template, podFailurePolicy } = check.value
  const policy = template.spec?.restartPolicy
  if (!policy || policy === 'Always') check.required('valid values: "OnFailure", "Never"')
  else if (policy !== 'OnFailure' && policy !== 'Never') check.notSupported(['OnFailure', 'Never'], policy)
  else if (podFailurePolicy && policy !== 'Never') check.invalid('only "Never" is supported when podFailurePolicy is specified', policy)
}

/** `path` is where the spec stands. */
export function jobTemplateWarnings(spec: V1JobSpec, prev: V1JobSpec | undefined, path: string): string[] {
  const warnings = podTemplateWarnings(spec.template, prev?.template, `${path}.template`)
  const { completions = 0, parallelism = 0 } = spec
  if (spec.completionMode === 'Indexed' && completions > manyCompletions && parallelism > maxParallelismForMany) {
    warnings.unshift(
      `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
    )
  }
  return warnings
}
