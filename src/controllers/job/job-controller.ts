import { Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1Job, V1JobCondition, V1JobStatus } from '#api/batch/v1/types.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodReady } from '#api/core/v1/pod/pod-state.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { cachedSelector } from '#api/meta/selector.ts'
import { formatTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import { isJobFinished, newCondition, withCondition } from '#controllers/job/conditions.ts'
import { countJobsOfOthers, countTerminatedPods, type JobAction, jobControllerName, measuredSync } from '#controllers/job/job-metrics.ts'
import { isSuspended, isTracked, trackingFinalizer } from '#controllers/job/job-pods.ts'
import { deadlineLeftMs, type JobState, jobStateOf } from '#controllers/job/job-state.ts'
import { type Managed, managePods, removeTracking } from '#controllers/job/manage-pods.ts'
import { track } from '#controllers/job/track.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { on } from '#controllers/runtime/triggers.ts'
import { claimChildren, possibleOwners } from '#controllers/workload/claim-children.ts'
import { deletePod } from '#controllers/workload/pod-writes.ts'
import { isDeleting, isTerminating } from '#controllers/workload/pods.ts'
import { burst } from '#controllers/workload/pods-at-once.ts'
import { firstFailure, inBatches } from '#controllers/workload/slow-start.ts'

const trackedByJob = 'tracked by job'

/** Runs pods until enough of them have succeeded. */
export const jobController = defineController({
  name: 'job-controller',
  alias: 'job',
  serviceAccount: 'job-controller',
  for: Job,
  owns: [Pod],
  indexes(cache) {
    cache.addIndex(Pod, trackedByJob, (pod) => {
      const owner = isTracked(pod) ? controllerOf(pod) : undefined
      return owner?.kind === 'Job' ? [`${pod.metadata.namespace}/${owner.name}`] : []
    })
  },
  watches: [
    countJobsOfOthers,
    countTerminatedPods,
    on(Pod, (pod, cache) =>
      possibleOwners(cache, Job, pod, ({ spec }, labels) => spec?.selector !== undefined && cachedSelector(spec.selector).matches(labels)),
    ),
  ],

  async reconcile(cached, context) {
    if (cached.spec === undefined || (cached.spec.managedBy ?? jobControllerName) !== jobControllerName) return
    const { namespace = '', name = '', uid } = cached.metadata
    // A pod that came to light after the job had ended counts for nobody, and must not wait for being counted.
    await releaseStrays(namespace, name, isJobFinished(cached) ? undefined : uid, context)
    if (isJobFinished(cached)) return
    if (!['NonIndexed', 'Indexed'].includes(cached.spec.completionMode ?? 'NonIndexed'))
      return context.events.warning(Job, cached, 'UnknownCompletionMode', 'Skipped Job sync because completion mode is unknown')
    await measuredSync(cached, context, (did) => sync(cached, context, did))
  },

  reconcileGone: (namespace, name, context) => releaseStrays(namespace, name, undefined, context),
})

async function sync(cached: V1Job, context: ReconcileContext, did: (action: JobAction) => void): Promise<void> {
  const job = deepCopy(cached)
  const nowMs = context.clock.now()
  const status: V1JobStatus = job.status ?? {}
  job.status = status
  if (!status.startTime && !isSuspended(job)) status.startTime = formatTime(nowMs)
  const pods = await claimChildren(context, {
    ownerKind: Job,
    owner: cached,
    childKind: Pod,
    selector: cachedSelector(cached.spec?.selector),
    finalizers: [trackingFinalizer],
  })
  const look = jobStateOf(job, pods, nowMs)
  const step = look.finishedCondition === undefined ? await goOn(look, context, did) : await endAll(look, context)
  const next: V1JobStatus = { ...deepCopy(status), ...step.status }
  if (step.active === 0) delete next.active
  else next.active = step.active
  next.ready = step.ready
  next.terminating = step.terminating
  // A copy of what the server has: `track` finds out what has changed.
  await track({ ...look, job: { ...job, status: cached.status ?? {} } }, next, step.finishedCondition, context)
  const leftMs = deadlineLeftMs({ ...job, status: next }, nowMs)
  if (leftMs !== undefined && step.finishedCondition === undefined) context.requeueAfter(Math.max(leftMs, 1))
  if (step.error !== undefined) throw step.error
}

type Step = {
  active: number
  ready: number
  terminating: number
  finishedCondition: V1JobCondition | undefined
  status: Partial<V1JobStatus>
  error?: unknown
}

/** The job is decided: what still runs has to end before it is over. */
async function endAll({ job, pods, active, finishedCondition }: JobState, context: ReconcileContext): Promise<Step> {
  const pace = { clock: context.clock, atOnce: burst }
  const outcomes = await inBatches(active, pace, (pod) => deletePod(context, { kind: Job, object: job }, pod))
  const failed = firstFailure(outcomes)
  const left = active.filter((_, index) => outcomes[index]?.status === 'rejected')
  return {
    active: left.length,
    ready: left.filter(isPodReady).length,
    terminating: pods.filter(isTerminating).length + active.length - left.length,
    finishedCondition: failed === undefined ? finishedCondition : undefined,
    status: {},
    ...defined({ error: failed?.reason }),
  }
}

async function goOn(look: JobState, context: ReconcileContext, did: (action: JobAction) => void): Promise<Step> {
  const { job, pods, active, succeeded } = look
  const nowMs = context.clock.now()
  const managed: Managed = isDeleting(job) ? { created: 0, deleted: [], action: 'reconciling' } : await managePods(look, context)
  did(managed.action)
  const deleted = new Set(managed.deleted)
  const left = active.filter((pod) => !deleted.has(pod))
  const activeCount = left.length + managed.created
  const step: Step = {
    active: activeCount,
    ready: left.filter(isPodReady).length,
    terminating: pods.filter(isTerminating).length + managed.deleted.length,
    finishedCondition: undefined,
    status: {},
    ...defined({ error: managed.error }),
  }
  const completions = job.spec?.completions
  const isComplete = activeCount === 0 && (completions === undefined ? succeeded > 0 : succeeded >= completions)
  if (isComplete) {
    step.finishedCondition = newCondition(
      'SuccessCriteriaMet',
      'True',
      'CompletionsReached',
      'Reached expected number of succeeded pods',
      nowMs,
    )
  } else if (!isDeleting(job)) {
    step.status = noteSuspension(job, nowMs, context)
  }
  return step
}

function noteSuspension(job: V1Job, nowMs: number, { events }: ReconcileContext): Partial<V1JobStatus> {
  const condition = isSuspended(job)
    ? newCondition('Suspended', 'True', 'JobSuspended', 'Job suspended', nowMs)
    : newCondition('Suspended', 'False', 'JobResumed', 'Job resumed', nowMs)
  const { conditions, isChanged } = withCondition(job.status?.conditions ?? [], condition)
  if (!isChanged) return {}
  events.normal(Job, job, isSuspended(job) ? 'Suspended' : 'Resumed', condition.message ?? '')
  // The deadline counts from when the job runs again.
  return { conditions, ...defined({ startTime: isSuspended(job) ? undefined : formatTime(nowMs) }) }
}

/** Pods of a job that is gone keep their finalizer until somebody takes it off. */
async function releaseStrays(namespace: string, name: string, uid: string | undefined, context: ReconcileContext): Promise<void> {
  for (const pod of context.cache.byIndex(Pod, trackedByJob, `${namespace}/${name}`)) {
    if (controllerOf(pod)?.uid !== uid) await removeTracking(pod, context)
  }
}
