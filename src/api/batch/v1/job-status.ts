/** Rules for what a job's status may say, and how it may move on. A rule that a stored status breaks is not held against writes that leave that part alone. */
import { indexesError, overlappingIndex } from '#api/batch/v1/job-indexes.ts'
import type { V1Job, V1JobStatus } from '#api/batch/v1/types.gen.ts'
import { type Check, omittedValue } from '#api/meta/check.ts'
import { semanticEqual } from '#api/meta/equality.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { asInternal } from '#api/meta/quote-internal.ts'

export function hasCondition(status: V1JobStatus | undefined, type: string, value = 'True'): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === value) ?? false
}

type Facts = { complete: boolean; failed: boolean; finished: boolean; failureTarget: boolean; successCriteriaMet: boolean }

function factsOf(status: V1JobStatus): Facts {
  const complete = hasCondition(status, 'Complete')
  const failed = hasCondition(status, 'Failed')
  return {
    complete,
    failed,
    finished: complete || failed,
    failureTarget: hasCondition(status, 'FailureTarget'),
    successCriteriaMet: hasCondition(status, 'SuccessCriteriaMet'),
  }
}

/** `check` stands at the status. */
export function validateJobStatusUpdate(next: V1Job, prev: V1Job, check: Check): void {
  const status = next.status ?? {}
  const before = prev.status ?? {}
  validateCounts(status, check)
  const is = factsOf(status)
  const was = factsOf(before)
  validateFinish(next, status, before, is, was, check)
  validateIndexes(next, status, before, check)
  validateReadyAndTerminating(status, before, is, was, check)
  validateSuccess(next, is, check)
  validateTransition(next, prev, is, was, check)
}

function validateCounts(status: V1JobStatus, check: Check): void {
  nonNegative(status.active, check.at('active'))
  nonNegative(status.succeeded, check.at('succeeded'))
  nonNegative(status.failed, check.at('failed'))
  nonNegative(status.ready, check.at('ready'))
  nonNegative(status.terminating, check.at('terminating'))
  const uncounted = status.uncountedTerminatedPods
  if (!uncounted) return
  const seen = new Set<string>()
  for (const list of ['succeeded', 'failed'] as const) {
    uncounted[list]?.forEach((uid, index) => {
      const at = check.at('uncountedTerminatedPods').at(list).at(index)
      if (uid === '') at.invalid(uid, 'must not be empty')
      else if (seen.has(uid)) at.duplicate(uid)
      else seen.add(uid)
    })
  }
}

function validateFinish(job: V1Job, status: V1JobStatus, before: V1JobStatus, is: Facts, was: Facts, check: Check): void {
  const conditions = check.at('conditions')
  const completeChanged = is.complete !== was.complete
  const failedChanged = is.failed !== was.failed
  const finishedChanged = is.finished !== was.finished
  const startTimeChanged = status.startTime !== before.startTime
  const completionTimeChanged = status.completionTime !== before.completionTime
  if ((completeChanged || failedChanged) && is.complete && is.failed) {
    conditions.invalid(omittedValue, 'cannot set Complete=True and Failed=true conditions')
  }
  if ((completeChanged || is.failureTarget !== was.failureTarget) && is.complete && is.failureTarget) {
    conditions.invalid(omittedValue, 'cannot set Complete=True and FailureTarget=true conditions')
  }
  if (completeChanged || completionTimeChanged) {
    if (status.completionTime && !is.complete) {
      check.at('completionTime').invalid(status.completionTime, 'cannot set completionTime when there is no Complete=True condition')
    }
    if (!status.completionTime && is.complete) check.at('completionTime').required('completionTime is required for Complete jobs')
  }
  if ((startTimeChanged || completionTimeChanged) && status.startTime && status.completionTime) {
    if (Date.parse(status.completionTime) < Date.parse(status.startTime)) {
      check.at('completionTime').invalid(status.completionTime, 'must be equal to or after `startTime`')
    }
  }
  if ((failedChanged || status.failedIndexes !== before.failedIndexes) && is.failed && !is.failureTarget) {
    conditions.invalid(omittedValue, 'cannot set Failed=True condition without the FailureTarget=true condition')
  }
  if ((completeChanged || is.successCriteriaMet !== was.successCriteriaMet) && is.complete && !is.successCriteriaMet) {
    conditions.invalid(omittedValue, 'cannot set Complete=True condition without the SuccessCriteriaMet=true condition')
  }
  const { active = 0, uncountedTerminatedPods } = status
  if ((finishedChanged || active !== (before.active ?? 0)) && active > 0 && is.finished) {
    check.at('active').invalid(active, 'active>0 is invalid for finished job')
  }
  // A job that wants nothing may finish while suspended, and then it never started.
  const neverStarts = job.spec.suspend === true && job.spec.completions === 0
  if ((finishedChanged || startTimeChanged) && !neverStarts && !status.startTime && is.finished) {
    check.at('startTime').required('startTime is required for finished job')
  }
  if (finishedChanged || !semanticEqual(uncountedTerminatedPods, before.uncountedTerminatedPods)) {
    if (is.finished && (uncountedTerminatedPods?.failed?.length || uncountedTerminatedPods?.succeeded?.length)) {
      const quoted = asInternal('batch.UncountedTerminatedPods', uncountedTerminatedPods)
      check.at('uncountedTerminatedPods').invalid(quoted, 'must be empty for finished job')
    }
  }
}

function validateIndexes({ spec }: V1Job, status: V1JobStatus, before: V1JobStatus, check: Check): void {
  const { completedIndexes = '', failedIndexes } = status
  const { completions, backoffLimitPerIndex } = spec
  const completedChanged = completedIndexes !== (before.completedIndexes ?? '')
  const failedChanged = failedIndexes !== before.failedIndexes
  if (completedChanged && completions !== undefined) {
    const problem = indexesError(completedIndexes, completions)
    if (problem !== undefined) check.at('completedIndexes').invalid(completedIndexes, `error parsing completedIndexes: ${problem}`)
  }
  if (failedChanged && completions !== undefined && backoffLimitPerIndex !== undefined && failedIndexes !== undefined) {
    const problem = indexesError(failedIndexes, completions)
    if (problem !== undefined) check.at('failedIndexes').invalid(failedIndexes, `error parsing failedIndexes: ${problem}`)
  }
  if (completedChanged && completedIndexes !== '' && spec.completionMode !== 'Indexed') {
    const detail = 'cannot set non-empty completedIndexes when non-indexed completion mode'
    check.at('completedIndexes').invalid(completedIndexes, detail)
  }
  if (failedIndexes === undefined) return
  if (failedChanged && backoffLimitPerIndex === undefined) {
    check.at('failedIndexes').invalid(failedIndexes, 'cannot set non-null failedIndexes when backoffLimitPerIndex is null')
  }
  if ((failedChanged || completedChanged) && completions !== undefined && completedIndexes !== '' && failedIndexes !== '') {
    const index = overlappingIndex(completedIndexes, failedIndexes, completions)
    if (index !== undefined) {
      check.at('failedIndexes').invalid(failedIndexes, `failedIndexes and completedIndexes overlap at index: ${index}`)
    }
  }
}

function validateReadyAndTerminating(status: V1JobStatus, before: V1JobStatus, is: Facts, was: Facts, check: Check): void {
  const { active = 0, ready, terminating } = status
  if ((is.finished !== was.finished || terminating !== before.terminating) && terminating !== undefined && terminating > 0 && is.finished) {
    check.at('terminating').invalid(terminating, 'terminating>0 is invalid for finished job')
  }
  if ((ready !== before.ready || active !== (before.active ?? 0)) && ready !== undefined && ready > active) {
    check.at('ready').invalid(ready, 'cannot set more ready pods than active')
  }
}

function validateSuccess({ spec }: V1Job, is: Facts, check: Check): void {
  const conditions = check.at('conditions')
  if (is.successCriteriaMet && is.failed) {
    conditions.invalid(omittedValue, 'cannot set SuccessCriteriaMet=True and Failed=true conditions')
  }
  if (is.successCriteriaMet && is.failureTarget) {
    conditions.invalid(omittedValue, 'cannot set SuccessCriteriaMet=True and FailureTarget=true conditions')
  }
  if (spec.successPolicy && !is.successCriteriaMet && is.complete) {
    conditions.invalid(omittedValue, 'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True')
  }
}

function validateTransition(next: V1Job, prev: V1Job, is: Facts, was: Facts, check: Check): void {
  const conditions = check.at('conditions')
  const status = next.status ?? {}
  const before = prev.status ?? {}
  if (was.failed && !is.failed) conditions.invalid(omittedValue, 'cannot disable the terminal Failed=True condition')
  if (was.complete && !is.complete) conditions.invalid(omittedValue, 'cannot disable the terminal Complete=True condition')
  if (was.failureTarget && !is.failureTarget) {
    conditions.invalid(omittedValue, 'cannot disable the terminal FailureTarget=True condition')
  }
  const { failed = 0, succeeded = 0, completionTime, startTime } = status
  if (failed < (before.failed ?? 0)) check.at('failed').invalid(failed, 'cannot decrease the failed counter')
  // An indexed job that is scaled down forgets indexes that had succeeded.
  const isElastic = next.spec.completionMode === 'Indexed' && next.spec.completions === next.spec.parallelism
  if (!isElastic && succeeded < (before.succeeded ?? 0)) check.at('succeeded').invalid(succeeded, 'cannot decrease the succeeded counter')
  if (completionTime && before.completionTime && completionTime !== before.completionTime) {
    check.at('completionTime').invalid(completionTime, 'field is immutable')
  }
  const resumes = hasCondition(before, 'Suspended') && hasCondition(status, 'Suspended', 'False')
  if (before.startTime && startTime !== before.startTime && !resumes && !next.spec.suspend) {
    check.at('startTime').invalid(startTime, 'field is immutable for unsuspended job once set')
  }
  if (was.successCriteriaMet && !is.successCriteriaMet) {
    conditions.invalid(omittedValue, 'cannot disable the SuccessCriteriaMet=True condition')
  }
  if (was.complete && !was.successCriteriaMet && is.successCriteriaMet) {
    conditions.invalid(omittedValue, 'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions')
  }
}
