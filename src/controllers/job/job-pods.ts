/** What a job reads from its pods. */

import type { V1Job } from '#api/batch/v1/types.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { largest } from '#base/append.ts'
import { backoffMs } from '#base/backoff.ts'
import { matchedRule } from '#controllers/job/failure-policy.ts'
import { finishedSinceMs, isDeleting } from '#controllers/workload/pods.ts'

export const trackingFinalizer = 'batch.kubernetes.io/job-tracking'
export const indexAnnotation = 'batch.kubernetes.io/job-completion-index'
export const failureCountAnnotation = 'batch.kubernetes.io/job-index-failure-count'
export const ignoredFailureCountAnnotation = 'batch.kubernetes.io/job-index-ignored-failure-count'

const firstBackoffMs = 10_000
const longestBackoffMs = 600_000

export const isIndexed = ({ spec }: V1Job): boolean => spec?.completionMode === 'Indexed'
export const hasLimitPerIndex = ({ spec }: V1Job): boolean => spec?.backoffLimitPerIndex !== undefined
export const isSuspended = ({ spec }: V1Job): boolean => spec?.suspend === true
export const onlyReplacesFailed = ({ spec }: V1Job): boolean =>
  spec?.podReplacementPolicy === 'Failed' || spec?.podFailurePolicy !== undefined

export const isTracked = ({ metadata }: V1Pod): boolean => metadata.finalizers?.includes(trackingFinalizer) ?? false

/** Pods that are being deleted count as failed, since some never get to say so; unless only those that did are replaced. */
export function isFailed(pod: V1Pod, job: V1Job): boolean {
  if (pod.status?.phase === 'Failed') return true
  return !onlyReplacesFailed(job) && isDeleting(pod) && pod.status?.phase !== 'Succeeded'
}

/** Undefined for pods without one, or with one that the job does not have. */
export function completionIndex({ metadata }: V1Pod, { spec }: V1Job): number | undefined {
  const text = metadata.annotations?.[indexAnnotation] ?? ''
  return /^\d+$/.test(text) && Number(text) < (spec?.completions ?? 0) ? Number(text) : undefined
}

export const countOf = ({ metadata }: V1Pod, annotation: string): number => Number(metadata.annotations?.[annotation] ?? 0) || 0

/** Whether the failure of the pod counts against the job's limits. */
export const countsAsFailure = (pod: V1Pod, { spec }: V1Job): boolean => matchedRule(spec?.podFailurePolicy, pod)?.action !== 'Ignore'

/** How long the job has to wait before it makes another pod: 10 s after the first failure, twice that after the next, … */
export function backoffLeftMs(job: V1Job, pods: readonly V1Pod[], nowMs: number): number {
  const lastSuccessMs = largest(0, pods.filter(({ status }) => status?.phase === 'Succeeded').map(finishedSinceMs))
  const failures = pods.filter((pod) => isFailed(pod, job) && finishedSinceMs(pod) > lastSuccessMs)
  return leftAfterFailures(failures.length, largest(0, failures.map(finishedSinceMs)), nowMs)
}

/** The same for one index, whose last failed pod knows how often it has failed. */
export function backoffLeftForIndexMs(failed: V1Pod | undefined, nowMs: number): number {
  if (failed === undefined) return 0
  const failures = countOf(failed, failureCountAnnotation) + countOf(failed, ignoredFailureCountAnnotation) + 1
  return leftAfterFailures(failures, finishedSinceMs(failed), nowMs)
}

function leftAfterFailures(failures: number, lastMs: number, nowMs: number): number {
  if (failures === 0) return 0
  return Math.max(0, lastMs + backoffMs(failures - 1, { firstMs: firstBackoffMs, longestMs: longestBackoffMs }) - nowMs)
}

/** For restartPolicy OnFailure: restarts inside of pods count as well. */
export function hasTooManyRestarts({ spec }: V1Job, pods: readonly V1Pod[]): boolean {
  if (spec?.template.spec?.restartPolicy !== 'OnFailure') return false
  let restarts = 0
  for (const { status } of pods) {
    if (status?.phase !== 'Running' && status?.phase !== 'Pending') continue
    for (const container of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
      restarts += container.restartCount
  }
  const limit = spec.backoffLimit ?? 6
  return limit === 0 ? restarts > 0 : restarts >= limit
}
