/**
 * Counts finished pods, each once, whatever is interrupted:
 *
 *   finished pod with finalizer ──> its uid in status.uncountedTerminatedPods ──> finalizer removed ──> counted, uid out of the list
 */

import { Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1Job, V1JobCondition, V1JobStatus } from '#api/batch/v1/types.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { conditionOf, newCondition, withCondition } from '#controllers/job/conditions.ts'
import { matchedRule } from '#controllers/job/failure-policy.ts'
import { countFinishedJob, countFinishedPods, countHandledFailures } from '#controllers/job/job-metrics.ts'
import { completionIndex, countsAsFailure, hasLimitPerIndex, isFailed, isIndexed, isTracked } from '#controllers/job/job-pods.ts'
import type { JobState } from '#controllers/job/job-state.ts'
import { removeTracking } from '#controllers/job/manage-pods.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const sameStatus = equalityOf(Job).at('status')

/** Keeps the list in the status small, and one job from keeping others waiting. */
const mostUncounted = 500

/** `status` is the job's next status but for what is counted here; `finishedCondition` tells how the job ends, if it does now. */
export async function track(
  look: JobState,
  status: V1JobStatus,
  finishedCondition: V1JobCondition | undefined,
  context: ReconcileContext,
): Promise<void> {
  const { client, events, clock } = context
  let job: V1Job = { ...look.job, status }
  const tracked = new Set(look.pods.filter(isTracked).map(({ metadata }) => metadata.uid ?? ''))
  countWithoutFinalizer(status, tracked)
  const { released, isFull, actions } = noteFinished(look, status, finishedCondition)
  if (finishedCondition !== undefined && conditionOf({ ...look.job, status }, finishedCondition.type) === undefined)
    status.conditions = [...(status.conditions ?? []), finishedCondition]
  if (!sameStatus(status, look.job.status)) {
    job = await client.updateStatus(Job, job)
    countFinishedPods(look.job.status ?? {}, job, context)
  }

  const next = deepCopy(job.status ?? {})
  const outcomes = await Promise.allSettled(released.map((pod) => removeTracking(pod, context)))
  for (const [index, { metadata }] of released.entries()) if (outcomes[index]?.status === 'fulfilled') tracked.delete(metadata.uid ?? '')
  countWithoutFinalizer(next, tracked)
  const failed = outcomes.find((outcome) => outcome.status === 'rejected') as PromiseRejectedResult | undefined
  const { succeeded: openSucceeded = [], failed: openFailed = [] } = next.uncountedTerminatedPods ?? {}
  const isOver =
    finishedCondition !== undefined &&
    !isFull &&
    failed === undefined &&
    openSucceeded.length + openFailed.length === 0 &&
    !next.terminating
  let final: V1JobCondition | undefined
  if (isOver) {
    const type = finishedCondition.type === 'FailureTarget' ? 'Failed' : 'Complete'
    final = newCondition(type, 'True', finishedCondition.reason ?? '', finishedCondition.message ?? '', clock.now())
    next.conditions = withCondition(next.conditions ?? [], final).conditions
    if (type === 'Complete' && final.lastTransitionTime) next.completionTime = final.lastTransitionTime
  }
  if (failed === undefined) countHandledFailures(actions, context)
  if (!sameStatus(next, job.status)) {
    const before = job.status ?? {}
    job = await client.updateStatus(Job, { ...job, status: next })
    countFinishedPods(before, job, context)
  }
  if (final !== undefined) {
    countFinishedJob(job, final, context)
    if (final.type === 'Complete') {
      const { completions } = job.spec ?? {}
      if (completions !== undefined && (job.status?.succeeded ?? 0) > completions)
        events.warning(Job, job, 'TooManySucceededPods', 'Too many succeeded pods running after completion count reached')
      events.normal(Job, job, 'Completed', 'Job completed')
    } else events.warning(Job, job, final.reason ?? '', final.message ?? '')
  }
  if (failed !== undefined) throw failed.reason
}

/** Pods on the list that have lost their finalizer, or are gone, are counted. */
function countWithoutFinalizer(status: V1JobStatus, tracked: ReadonlySet<string>): void {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {}
  const left = { succeeded: succeeded.filter((uid) => tracked.has(uid)), failed: failed.filter((uid) => tracked.has(uid)) }
  if (left.succeeded.length < succeeded.length) status.succeeded = (status.succeeded ?? 0) + succeeded.length - left.succeeded.length
  if (left.failed.length < failed.length) status.failed = (status.failed ?? 0) + failed.length - left.failed.length
  status.uncountedTerminatedPods = {
    ...omitEmpty({ succeeded: left.succeeded, failed: left.failed }),
  }
}

/** Writes newly finished pods into the lists and tells which finalizers may go. */
function noteFinished(
  look: JobState,
  status: V1JobStatus,
  finishedCondition: V1JobCondition | undefined,
): { released: V1Pod[]; isFull: boolean; actions: string[] } {
  const { job, pods, countedIndexes, failedIndexes } = look
  const succeeded = [...(status.uncountedTerminatedPods?.succeeded ?? [])]
  const failed = [...(status.uncountedTerminatedPods?.failed ?? [])]
  const indexes: number[] = []
  const released: V1Pod[] = []
  const actions: string[] = []
  let isFull = false
  const byIndex = [...pods].sort((left, right) => (completionIndex(left, job) ?? -1) - (completionIndex(right, job) ?? -1))
  for (const pod of byIndex) {
    const uid = pod.metadata.uid ?? ''
    if (!isTracked(pod) || !mayRelease(look, pod, finishedCondition)) continue
    released.push(pod)
    const index = completionIndex(pod, job)
    const isSuccess = pod.status?.phase === 'Succeeded' && !failed.includes(uid)
    if (isSuccess) {
      if (!isIndexed(job)) {
        if (!succeeded.includes(uid)) succeeded.push(uid)
      } else if (index !== undefined && !countedIndexes.has(index)) {
        indexes.push(index)
      }
    } else if (isFailed(pod, job) || finishedCondition?.type === 'FailureTarget') {
      const belongs = !isIndexed(job) || index !== undefined
      if (belongs && !failed.includes(uid)) {
        const rule = matchedRule(job.spec?.podFailurePolicy, pod)
        if (rule !== undefined) actions.push(rule.action)
        if (countsAsFailure(pod, job)) failed.push(uid)
      }
    }
    isFull = indexes.length + succeeded.length + failed.length >= mostUncounted
    if (isFull) break
  }
  status.uncountedTerminatedPods = omitEmpty({ succeeded, failed })
  if (isIndexed(job)) {
    const done = countedIndexes.with(indexes)
    status.succeeded = done.size
    if (done.size > 0) status.completedIndexes = done.toString()
    else delete status.completedIndexes
    if (failedIndexes !== undefined) status.failedIndexes = failedIndexes.toString()
  }
  return { released, isFull, actions }
}

function mayRelease({ job, awaitingReplacement }: JobState, pod: V1Pod, finishedCondition: V1JobCondition | undefined): boolean {
  if (isDeleting(job) || finishedCondition !== undefined || pod.status?.phase === 'Succeeded') return true
  if (!isFailed(pod, job)) return false
  const index = hasLimitPerIndex(job) ? completionIndex(pod, job) : undefined
  return index === undefined || awaitingReplacement.get(index)?.metadata.uid !== pod.metadata.uid
}
