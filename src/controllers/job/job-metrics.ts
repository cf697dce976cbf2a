import { Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1Job, V1JobCondition, V1JobStatus } from '#api/batch/v1/types.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { exponentialBuckets } from '#base/metrics.ts'
import { IndexSet } from '#controllers/job/index-set.ts'
import { hasLimitPerIndex, isIndexed, isTracked, onlyReplacesFailed } from '#controllers/job/job-pods.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'
import type { Trigger } from '#controllers/runtime/triggers.ts'

/** What one look at a job did. */
export type JobAction = 'reconciling' | 'tracking' | 'pods_created' | 'pods_deleted'

const declared = ownMetrics((metrics) => ({
  seconds: metrics.histogram('job_controller_job_sync_duration_seconds', 'How long a look at a job took', exponentialBuckets(0.004, 2, 15)),
  syncs: metrics.counter('job_controller_job_syncs_total', 'How often a job was looked at'),
  finished: metrics.counter('job_controller_jobs_finished_total', 'Jobs that have finished'),
  podsFinished: metrics.counter('job_controller_job_pods_finished_total', 'Finished pods that have been counted'),
  indexesFinished: metrics.counter('job_controller_job_finished_indexes_total', 'Indexes that have finished'),
  podsCreated: metrics.counter('job_controller_job_pods_creation_total', 'Pods that were made, by why they were'),
  ofOthers: metrics.counter('job_controller_jobs_by_external_controller_total', 'Jobs that another controller looks after'),
  terminatedPods: metrics.counter(
    'job_controller_terminated_pods_tracking_finalizer_total',
    'Terminated pods that got, or lost, the finalizer by which jobs count them',
  ),
  failuresHandled: metrics.counter(
    'job_controller_pod_failures_handled_by_failure_policy_total',
    'Failed pods that a rule of the failure policy was for, by its action',
  ),
}))

/** Whom the job says it is looked after by. */
export const jobControllerName = 'kubernetes.io/job-controller'

/** Counts jobs of others; nobody has to look at them. */
export const countJobsOfOthers: Trigger = (wiring) =>
  wiring.cache.informer(Job).addHandler({
    onAdd({ spec }) {
      const { managedBy = jobControllerName } = spec ?? {}
      if (managedBy !== jobControllerName) declared(wiring).ofOthers.inc({ controller_name: managedBy })
    },
    onUpdate() {},
    onDelete() {},
  })

/** Counts terminated pods that wait for being counted by their jobs, and that do not any more. */
export const countTerminatedPods: Trigger = (wiring) => {
  const waits = (pod: V1Pod | undefined) => pod !== undefined && isPodFinished(pod) && isTracked(pod)
  const note = (before: V1Pod | undefined, after: V1Pod | undefined) => {
    if (waits(before) !== waits(after)) declared(wiring).terminatedPods.inc({ event: waits(after) ? 'add' : 'delete' })
  }
  return wiring.cache.informer(Pod).addHandler({
    onAdd: (pod) => note(undefined, pod),
    onUpdate: (next, prev) => note(prev, next),
    onDelete: (pod) => note(pod, undefined),
  })
}

const modeOf = (job: V1Job): string => job.spec?.completionMode ?? 'NonIndexed'

/** Runs one look at a job, which tells what it did as soon as it knows. */
export async function measuredSync(
  job: V1Job,
  context: ReconcileContext,
  sync: (did: (action: JobAction) => void) => Promise<void>,
): Promise<void> {
  const startMs = context.clock.monotonic()
  let action: JobAction = 'reconciling'
  let result = 'error'
  try {
    await sync((done) => {
      action = done
    })
    result = 'success'
  } finally {
    const { seconds, syncs } = declared(context)
    const labels = { completion_mode: modeOf(job), result, action }
    seconds.observe((context.clock.monotonic() - startMs) / 1000, labels)
    syncs.inc(labels)
  }
}

export function countFinishedJob(job: V1Job, { type, reason = '' }: V1JobCondition, context: ReconcileContext): void {
  const result = type === 'Complete' ? 'succeeded' : 'failed'
  declared(context).finished.inc({ completion_mode: modeOf(job), result, reason })
}

/** By how much the written status differs from the one before it. */
export function countFinishedPods(before: V1JobStatus, job: V1Job, context: ReconcileContext): void {
  const { podsFinished, indexesFinished } = declared(context)
  const after = job.status ?? {}
  const completions = job.spec?.completions ?? 0
  const grown = (one: string | undefined, other: string | undefined) =>
    one === other ? 0 : Math.max(0, IndexSet.parse(other, completions).size - IndexSet.parse(one, completions).size)
  const failed = Math.max(0, (after.failed ?? 0) - (before.failed ?? 0))
  let succeeded = Math.max(0, (after.succeeded ?? 0) - (before.succeeded ?? 0))
  if (isIndexed(job)) {
    // Of an elastic job fewer indexes may count than before.
    succeeded = grown(before.completedIndexes, after.completedIndexes)
    const backoffLimit = hasLimitPerIndex(job) ? 'perIndex' : 'global'
    indexesFinished.inc({ status: 'succeeded', backoffLimit }, succeeded)
    const failedIndexes = hasLimitPerIndex(job) ? grown(before.failedIndexes, after.failedIndexes) : 0
    if (failedIndexes > 0) indexesFinished.inc({ status: 'failed', backoffLimit }, failedIndexes)
  }
  podsFinished.inc({ completion_mode: modeOf(job), result: 'succeeded' }, succeeded)
  podsFinished.inc({ completion_mode: modeOf(job), result: 'failed' }, failed)
}

export function countHandledFailures(actions: readonly string[], context: ReconcileContext): void {
  for (const action of actions) declared(context).failuresHandled.inc({ action })
}

type Creations = { succeeded: number; failed: number; replaced: { failed: number; terminating: number } }

export function countCreatedPods(job: V1Job, { succeeded, failed, replaced }: Creations, context: ReconcileContext): void {
  const { podsCreated } = declared(context)
  const isReplacement = replaced.failed > 0 || replaced.terminating > 0
  const again = isReplacement ? 'recreate_terminating_or_failed' : 'new'
  const reason = onlyReplacesFailed(job) && replaced.failed > 0 ? 'recreate_failed' : again
  if (succeeded > 0) podsCreated.inc({ reason, status: 'succeeded' }, succeeded)
  if (failed > 0) podsCreated.inc({ reason, status: 'failed' }, failed)
}
