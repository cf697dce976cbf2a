/** Rules for what a job's status may say, and how it may move on. A rule that a stored status breaks is not held against writes that leave that part alone. */

import { indexesError, overlappingIndex } from '#api/batch/v1/job-indexes.ts'
import { Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1Job, V1JobStatus } from '#api/batch/v1/types.gen.ts'
import { type Check, omittedValue } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { asInternal } from '#api/meta/quote-internal.ts'

const sameUncounted = equalityOf(Job).at('status').at('uncountedTerminatedPods')

export function hasCondition(status: V1JobStatus | undefined, type: string, value = 'True'): boolean {
  return findCondition(status?.conditions, type)?.status === value
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
export function validateJobStatusUpdate(check: Check<V1Job>, prev: V1Job): void {
  const next = check.value
  const status = next.status ?? {}
  const before = prev.status ?? {}
  validateCounts(check.with(status))
  const is = factsOf(status)
  const was = factsOf(before)
  validateFinish(next, check.with(status), before, is, was)
  validateIndexes(next, check.with(status), before)
  validateReadyAndTerminating(check.with(status), before, is, was)
  validateSuccess(next, is, check)
  validateTransition(check, prev, is, was)
}

function validateCounts(check: Check<V1JobStatus>): void {
  const status = check.value
  nonNegative(check.at('active'))
  nonNegative(check.at('succeeded'))
  nonNegative(check.at('failed'))
  nonNegative(check.at('ready'))
  nonNegative(check.at('terminating'))
  const uncounted = status.uncountedTerminatedPods
  if (!uncounted) return
  const seen = new Set<string>()
  for (const list of ['succeeded', 'failed'] as const) {
    uncounted[list]?.forEach((uid, index) => {
      const at = check.at('uncountedTerminatedPods').at(list).at(index)
      if (uid === '') at.invalid('must not be empty')
      else if (seen.has(uid)) at.duplicate()
      else seen.add(uid)
    })
  }
}

function validateFinish(job: V1Job, check: Check<V1JobStatus>, before: V1JobStatus, is: Facts, was: Facts): void {
  const status = check.value
  const conditions = check.at('conditions')
  const completeChanged = is.complete !== was.complete
  const failedChanged = is.failed !== was.failed
  const finishedChanged = is.finished !== was.finished
  const startTimeChanged = status.startTime !== before.startTime
  const completionTimeChanged = status.completionTime !== before.completionTime
  if ((completeChanged || failedChanged) && is.complete && is.failed) {
    conditions.invalid('cannot set Complete=True and Failed=true conditions', omittedValue)
  }
  if ((completeChanged || is.failureTarget !== was.failureTarget) && is.complete && is.failureTarget) {
    conditions.invalid('cannot set Complete=True and FailureTarget=true conditions', omittedValue)
  }
  if (completeChanged || completionTimeChanged) {
    if (status.completionTime && !is.complete) {
      check.at('completionTime').invalid('cannot set completionTime when there is no Complete=True condition')
    }
    if (!status.completionTime && is.complete) check.at('completionTime').required('completionTime is required for Complete jobs')
  }
  if ((startTimeChanged || completionTimeChanged) && status.startTime && status.completionTime) {
    if (Date.parse(status.completionTime) < Date.parse(status.startTime)) {
      check.at('completionTime').invalid('must be equal to or after `startTime`')
    }
  }
  if ((failedChanged || status.failedIndexes !== before.failedIndexes) && is.failed && !is.failureTarget) {
    conditions.invalid('cannot set Failed=True condition without the FailureTarget=true condition', omittedValue)
  }
  if ((completeChanged || is.successCriteriaMet !== was.successCriteriaMet) && is.complete && !is.successCriteriaMet) {
    conditions.invalid('cannot set Complete=True condition without the SuccessCriteriaMet=true condition', omittedValue)
  }
  const { active = 0, uncountedTerminatedPods } = status
  if ((finishedChanged || active !== (before.active ?? 0)) && active > 0 && is.finished) {
    check.at('active').or(0).invalid('active>0 is invalid for finished job')
  }
  // A job that wants nothing may finish while suspended, and then it never started.
  const neverStarts = job.spec.suspend === true && job.spec.completions === 0
  if ((finishedChanged || startTimeChanged) && !neverStarts && !status.startTime && is.finished) {
    check.at('startTime').required('startTime is required for finished job')
  }
  if (finishedChanged || !sameUncounted(uncountedTerminatedPods, before.uncountedTerminatedPods)) {
    if (is.finished && (uncountedTerminatedPods?.failed?.length || uncountedTerminatedPods?.succeeded?.length)) {
      const quoted = asInternal('batch.UncountedTerminatedPods', uncountedTerminatedPods)
      check.at('uncountedTerminatedPods').invalid('must be empty for finished job', quoted)
    }
  }
}

function validateIndexes({ spec }: V1Job, check: Check<V1JobStatus>, before: V1JobStatus): void {
  const status = check.value
  const { completedIndexes = '', failedIndexes } = status
  const { completions, backoffLimitPerIndex } = spec
  const completedChanged = completedIndexes !== (before.completedIndexes ?? '')
  const failedChanged = failedIndexes !== before.failedIndexes
  if (completedChanged && completions !== undefined) {
    const problem = indexesError(completedIndexes, completions)
    if (problem !== undefined) check.at('completedIndexes').or('').invalid(`error parsing completedIndexes: ${problem}`)
  }
  if (failedChanged && completions !== undefined && backoffLimitPerIndex !== undefined && failedIndexes !== undefined) {
    const problem = indexesError(failedIndexes, completions)
    if (problem !== undefined) check.at('failedIndexes').invalid(`error parsing failedIndexes: ${problem}`)
  }
  if (completedChanged && completedIndexes !== '' && spec.completionMode !== 'Indexed') {
    const detail = 'cannot set non-empty completedIndexes when non-indexed completion mode'
    check.at('completedIndexes').or('').invalid(detail)
  }
  if (failedIndexes === undefined) return
  if (failedChanged && backoffLimitPerIndex === undefined) {
    check.at('failedIndexes').invalid('cannot set non-null failedIndexes when backoffLimitPerIndex is null')
  }
  if ((failedChanged || completedChanged) && completions !== undefined && completedIndexes !== '' && failedIndexes !== '') {
    const index = overlappingIndex(completedIndexes, failedIndexes, completions)
    if (index !== undefined) {
      check.at('failedIndexes').invalid(`failedIndexes and completedIndexes overlap at index: ${index}`)
    }
  }
}

function validateReadyAndTerminating(check: Check<V1JobStatus>, before: V1JobStatus, is: Facts, was: Facts): void {
  const status = check.value
  const { active = 0, ready, terminating } = status
  if ((is.finished !== was.finished || terminating !== before.terminating) && terminating !== undefined && terminating > 0 && is.finished) {
    check.at('terminating').invalid('terminating>0 is invalid for finished job')
  }
  if ((ready !== before.ready || active !== (before.active ?? 0)) && ready !== undefined && ready > active) {
    check.at('ready').invalid('cannot set more ready pods than active')
  }
}

function validateSuccess({ spec }: V1Job, is: Facts, check: Check<V1Job>): void {
  const conditions = check.dynamic('conditions')
  if (is.successCriteriaMet && is.failed) {
    conditions.invalid('cannot set SuccessCriteriaMet=True and Failed=true conditions', omittedValue)
  }
  if (is.successCriteriaMet && is.failureTarget) {
    conditions.invalid('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions', omittedValue)
  }
  if (spec.successPolicy && !is.successCriteriaMet && is.complete) {
    conditions.invalid('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True', omittedValue)
  }
}

function validateTransition(check: Check<V1Job>, prev: V1Job, is: Facts, was: Facts): void {
  const next = check.value
  const conditions = check.dynamic('conditions')
  const status = next.status ?? {}
  const before = prev.status ?? {}
  if (was.failed && !is.failed) conditions.invalid('cannot disable the terminal Failed=True condition', omittedValue)
  if (was.complete && !is.complete) conditions.invalid('cannot disable the terminal Complete=True condition', omittedValue)
  if (was.failureTarget && !is.failureTarget) {
    conditions.invalid('cannot disable the terminal FailureTarget=True condition', omittedValue)
  }
  const { failed = 0, succeeded = 0, completionTime, startTime } = status
  if (failed < (before.failed ?? 0)) check.dynamic('failed').invalid('cannot decrease the failed counter', failed)
  // An indexed job that is scaled down forgets indexes that had succeeded.
  const isElastic = next.spec.completionMode === 'Indexed' && next.spec.completions === next.spec.parallelism
  if (!isElastic && succeeded < (before.succeeded ?? 0))
    check.dynamic('succeeded').invalid('cannot decrease the succeeded counter', succeeded)
  if (completionTime && before.completionTime && completionTime !== before.completionTime) {
    check.dynamic('completionTime').invalid('field is immutable', completionTime)
  }
  const resumes = hasCondition(before, 'Suspended') && hasCondition(status, 'Suspended', 'False')
  if (before.startTime && startTime !== before.startTime && !resumes && !next.spec.suspend) {
    check.dynamic('startTime').invalid('field is immutable for unsuspended job once set', startTime)
  }
  if (was.successCriteriaMet && !is.successCriteriaMet) {
    conditions.invalid('cannot disable the SuccessCriteriaMet=True condition', omittedValue)
  }
  if (was.complete && !was.successCriteriaMet && is.successCriteriaMet) {
    conditions.invalid('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions', omittedValue)
  }
}
