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
export function validateJobTemplate(spec: V1JobSpec, check: Check, options: PodValidationOptions): void {
  nonNegative(spec.parallelism, check.at('parallelism'))
  nonNegative(spec.completions, check.at('completions'))
  nonNegative(spec.activeDeadlineSeconds, check.at('activeDeadlineSeconds'))
  nonNegative(spec.backoffLimit, check.at('backoffLimit'))
  nonNegative(spec.ttlSecondsAfterFinished, check.at('ttlSecondsAfterFinished'))
  nonNegative(spec.backoffLimitPerIndex, check.at('backoffLimitPerIndex'))
  if (spec.maxFailedIndexes !== undefined) {
    nonNegative(spec.maxFailedIndexes, check.at('maxFailedIndexes'))
    if (spec.backoffLimitPerIndex === undefined) check.at('backoffLimitPerIndex').required('when maxFailedIndexes is specified')
  }
  if (spec.managedBy !== undefined) {
    domainPrefixedPath(spec.managedBy, check.at('managedBy'))
    if (byteLength(spec.managedBy) > maxManagedByBytes) check.at('managedBy').tooLong(maxManagedByBytes)
  }
  validateCompletionMode(spec, check)
  if (spec.podFailurePolicy) validatePodFailurePolicy(spec, check.at('podFailurePolicy'))
  if (spec.successPolicy) {
    if (spec.completionMode === 'Indexed') validateSuccessPolicy(spec, check.at('successPolicy'))
    else check.at('successPolicy').invalid(asInternal('batch.SuccessPolicy', spec.successPolicy), 'requires indexed completion mode')
  }
  validatePodReplacementPolicy(spec, check.at('podReplacementPolicy'))
  validatePodTemplate(spec.template, check.at('template'), options)
  validateRestartPolicy(spec, check.at('template.spec.restartPolicy'))
}

function validateCompletionMode(spec: V1JobSpec, check: Check): void {
  const { completionMode, backoffLimitPerIndex, maxFailedIndexes } = spec
  if (completionMode === undefined || completionMode === 'NonIndexed') {
    if (backoffLimitPerIndex !== undefined) {
      check.at('backoffLimitPerIndex').invalid(backoffLimitPerIndex, 'requires indexed completion mode')
    }
    if (maxFailedIndexes !== undefined) check.at('maxFailedIndexes').invalid(maxFailedIndexes, 'requires indexed completion mode')
  } else if (completionMode === 'Indexed') validateIndexed(spec, check)
  else check.at('completionMode').notSupported(completionMode, ['NonIndexed', 'Indexed'])
}

function validateIndexed({ completions, parallelism = 0, maxFailedIndexes, backoffLimitPerIndex }: V1JobSpec, check: Check): void {
  if (completions === undefined) check.at('completions').required('when completion mode is Indexed')
  if (parallelism > maxIndexedParallelism) {
    check.at('parallelism').invalid(parallelism, `must be less than or equal to ${maxIndexedParallelism} when completion mode is Indexed`)
  }
  if (maxFailedIndexes !== undefined) {
    if (completions !== undefined && maxFailedIndexes > completions) {
      check.at('maxFailedIndexes').invalid(maxFailedIndexes, 'must be less than or equal to completions')
    }
    if (maxFailedIndexes > maxFailedIndexesLimit) {
      check.at('maxFailedIndexes').invalid(maxFailedIndexes, `must be less than or equal to ${maxFailedIndexesLimit}`)
    }
  }
  // The status names failed indexes one by one: with very many there must be a bound.
  if (completions === undefined || completions <= manyCompletions || backoffLimitPerIndex === undefined) return
  const condition = `when completions are above ${manyCompletions} and used with backoff limit per index`
  if (maxFailedIndexes === undefined) {
    check.at('maxFailedIndexes').required(`must be specified when completions is above ${manyCompletions}`)
  }
  if (parallelism > maxParallelismForMany) {
    check.at('parallelism').invalid(parallelism, `must be less than or equal to ${maxParallelismForMany} ${condition}`)
  }
  if (maxFailedIndexes !== undefined && maxFailedIndexes > maxFailedIndexesForMany) {
    check.at('maxFailedIndexes').invalid(maxFailedIndexes, `must be less than or equal to ${maxFailedIndexesForMany} ${condition}`)
  }
}

function validatePodReplacementPolicy({ podReplacementPolicy, podFailurePolicy }: V1JobSpec, check: Check): void {
  if (podReplacementPolicy === undefined || podReplacementPolicy === 'Failed') return
  if (podFailurePolicy) check.notSupported(podReplacementPolicy, ['Failed'])
  else if (podReplacementPolicy !== 'TerminatingOrFailed') check.notSupported(podReplacementPolicy, ['Failed', 'TerminatingOrFailed'])
}

function validateRestartPolicy({ template, podFailurePolicy }: V1JobSpec, check: Check): void {
  const policy = template.spec?.restartPolicy
  if (!policy || policy === 'Always') check.required('valid values: "OnFailure", "Never"')
  else if (policy !== 'OnFailure' && policy !== 'Never') check.notSupported(policy, ['OnFailure', 'Never'])
  else if (podFailurePolicy && policy !== 'Never') check.invalid(policy, 'only "Never" is supported when podFailurePolicy is specified')
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
