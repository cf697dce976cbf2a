import { type CronSchedule, parseCronSchedule } from '#api/batch/v1/cron-schedule.ts'
import { CronJob, Job } from '#api/batch/v1/kinds.gen.ts'
import { timeZoneError } from '#api/batch/v1/time-zone.ts'
import type { V1CronJob, V1CronJobStatus, V1Job } from '#api/batch/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { controllerReference, isControlledBy } from '#api/meta/owner-references.ts'
import { ignoreNotFound, isAlreadyExists, isNotFound } from '#api/meta/server-response.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import { errorMessage } from '#base/error-message.ts'
import { exponentialBuckets } from '#base/metrics.ts'
import { referenceTo } from '#client/events/event-recorder.ts'
import { dueTime, untilNextMs } from '#controllers/cronjob/schedule-times.ts'
import { rfc1123, zonedTime } from '#controllers/cronjob/time-texts.ts'
import { conditionOf, isJobFinished } from '#controllers/job/conditions.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'
import { isNamespaceTerminating } from '#controllers/workload/pod-writes.ts'
import { byAge, isDeleting } from '#controllers/workload/pods.ts'

const sameStatus = equalityOf(CronJob).at('status')

const declared = ownMetrics((metrics) =>
  metrics.histogram(
    'cronjob_controller_job_creation_skew_duration_seconds',
    'How long after its scheduled time a job was made',
    exponentialBuckets(1, 2, 10),
  ),
)

/** Makes jobs at the times of a schedule. */
export const cronJobController = defineController({
  name: 'cronjob-controller',
  alias: 'cronjob',
  serviceAccount: 'cronjob-controller',
  for: CronJob,
  owns: [Job],

  async reconcile(cached, context) {
    const cronJob = deepCopy(cached)
    cronJob.status ??= {}
    const jobs = context.cache.controlledBy(Job, cached)
    await cleanUpHistory(cronJob, jobs, context)
    await noteJobs(cronJob, cronJob.status, jobs, context)
    try {
      if (!isDeleting(cronJob)) await runIfDue(cronJob, cronJob.status, context)
    } finally {
      if (!sameStatus(cronJob.status, cached.status ?? {})) await context.client.updateStatus(CronJob, cronJob)
    }
  },
})

/** Keeps the list of active jobs true. */
async function noteJobs(
  cronJob: V1CronJob,
  status: V1CronJobStatus,
  jobs: readonly V1Job[],
  { client, events }: ReconcileContext,
): Promise<void> {
  const drop = (uid: string | undefined) => {
    status.active = (status.active ?? []).filter((reference) => reference.uid !== uid)
    if (status.active.length === 0) delete status.active
  }
  for (const job of jobs) {
    const { uid, name } = job.metadata
    const isListed = (status.active ?? []).some((reference) => reference.uid === uid)
    if (!isListed && !isJobFinished(job)) {
      // It was made and then not written down, or by somebody else; upstream tells of it and leaves the list alone.
      events.warning(CronJob, cronJob, 'UnexpectedJob', `Saw a job that the controller did not create or forgot: ${name}`)
    } else if (isListed && isJobFinished(job)) {
      drop(uid)
      const condition = conditionOf(job, 'Complete') === undefined ? 'Failed' : 'Complete'
      events.normal(CronJob, cronJob, 'SawCompletedJob', `Saw completed job: ${name}, condition: ${condition}`)
    }
    const { completionTime } = job.status ?? {}
    if (completionTime && conditionOf(job, 'Complete') && completionTime > (status.lastSuccessfulTime ?? ''))
      status.lastSuccessfulTime = completionTime
  }
  for (const { uid, name = '', namespace = '' } of status.active ?? []) {
    if (jobs.some(({ metadata }) => metadata.uid === uid)) continue
    const found = await client.get(Job, namespace, name).catch(ignoreNotFound)
    if (found !== undefined) continue
    events.normal(CronJob, cronJob, 'MissingJob', `Active job went missing: ${name}`)
    drop(uid)
  }
}

async function runIfDue(cronJob: V1CronJob, status: V1CronJobStatus, context: ReconcileContext): Promise<void> {
  const { events, clock, requeueAfter } = context
  const { spec } = cronJob
  const nowMs = clock.now()
  if (spec === undefined) return
  const zoneProblem = spec.timeZone === undefined ? undefined : timeZoneError(spec.timeZone)
  if (zoneProblem !== undefined)
    return events.warning(CronJob, cronJob, 'UnknownTimeZone', `invalid timeZone: "${spec.timeZone}": ${zoneProblem}`)
  if (spec.suspend) return
  if (spec.schedule.includes('TZ')) {
    const message =
      `CRON_TZ or TZ used in schedule "${spec.schedule}" is not officially supported, ` +
      'see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details'
    events.warning(CronJob, cronJob, 'UnsupportedSchedule', message)
  }
  let schedule: CronSchedule
  try {
    schedule = parseCronSchedule(spec.schedule)
  } catch (error) {
    return events.warning(CronJob, cronJob, 'UnparseableSchedule', `unparseable schedule: "${spec.schedule}" : ${errorMessage(error)}`)
  }
  const later = () => {
    const leftMs = untilNextMs(cronJob, schedule, nowMs)
    if (leftMs !== undefined) requeueAfter(leftMs)
  }
  const { scheduledMs, isTooMany, problem } = dueTime(cronJob, schedule, nowMs)
  if (problem !== undefined) return events.warning(CronJob, cronJob, 'InvalidSchedule', `invalid schedule: ${spec.schedule} : ${problem}`)
  if (isTooMany) {
    const message = 'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew'
    events.warning(CronJob, cronJob, 'TooManyMissedTimes', message)
  }
  if (scheduledMs === undefined) return later()
  if (spec.startingDeadlineSeconds !== undefined && scheduledMs + spec.startingDeadlineSeconds * 1000 < nowMs) {
    events.warning(CronJob, cronJob, 'MissSchedule', `Missed scheduled time to start a job: ${rfc1123(scheduledMs)}`)
    return later()
  }
  const name = jobName(cronJob, scheduledMs)
  if ((status.active ?? []).some((reference) => reference.name === name) || status.lastScheduleTime === formatTime(scheduledMs))
    return later()
  if (spec.concurrencyPolicy === 'Forbid' && (status.active ?? []).length > 0) {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid'
    events.normal(CronJob, cronJob, 'JobAlreadyActive', message)
    return later()
  }
  if (spec.concurrencyPolicy === 'Replace') {
    for (const { name: running = '', namespace = '' } of status.active ?? []) {
      const job = await context.client.get(Job, namespace, running).catch((error: unknown) => {
        events.warning(CronJob, cronJob, 'FailedGet', `Get job: ${errorMessage(error)}`)
        throw error
      })
      await deleteJob(cronJob, job.metadata, context)
    }
    delete status.active
  }
  await start(cronJob, status, name, scheduledMs, context)
  later()
}

async function start(cronJob: V1CronJob, status: V1CronJobStatus, name: string, scheduledMs: number, context: ReconcileContext) {
  const { client, events } = context
  const { spec, metadata } = cronJob
  if (spec === undefined) return
  const { labels = {}, annotations = {} } = spec.jobTemplate.metadata ?? {}
  const draft: V1Job = {
    metadata: {
      namespace: metadata.namespace ?? '',
      name,
      labels: { ...labels },
      annotations: { ...annotations, 'batch.kubernetes.io/cronjob-scheduled-timestamp': zonedTime(scheduledMs, spec.timeZone) },
      ownerReferences: [controllerReference(cronJob, CronJob)],
    },
    spec: deepCopy(spec.jobTemplate.spec),
  }
  let job: V1Job
  try {
    job = await client.create(Job, draft)
    if (job.metadata.creationTimestamp) declared(context).observe((parseTime(job.metadata.creationTimestamp) - scheduledMs) / 1000)
    events.normal(CronJob, cronJob, 'SuccessfulCreate', `Created job ${name}`)
  } catch (error) {
    if (isNamespaceTerminating(error)) return
    if (!isAlreadyExists(error)) {
      events.warning(CronJob, cronJob, 'FailedCreate', `Error creating job: ${errorMessage(error)}`)
      throw error
    }
    // Made before, but not written down; or somebody else's, which is none of our business.
    job = await client.get(Job, metadata.namespace ?? '', name)
    if (!isControlledBy(job, cronJob)) return
  }
  status.active = [...(status.active ?? []), referenceTo(Job, job)]
  status.lastScheduleTime = formatTime(scheduledMs)
}

/** The same run has the same name, so that it is never made twice. */
const jobName = ({ metadata }: V1CronJob, scheduledMs: number): string => `${metadata.name}-${Math.floor(scheduledMs / 60_000)}`

async function cleanUpHistory(cronJob: V1CronJob, jobs: readonly V1Job[], context: ReconcileContext): Promise<void> {
  const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = cronJob.spec ?? {}
  for (const [type, limit] of [['Complete', successfulJobsHistoryLimit] as const, ['Failed', failedJobsHistoryLimit] as const]) {
    if (limit === undefined) continue
    const finished = jobs.filter((job) => conditionOf(job, type) !== undefined && !isDeleting(job)).sort(byAge)
    for (const { metadata } of finished.slice(0, Math.max(0, finished.length - limit))) await deleteJob(cronJob, metadata, context)
  }
}

async function deleteJob(
  cronJob: V1CronJob,
  { namespace = '', name = '' }: { namespace?: string; name?: string },
  { client, events }: ReconcileContext,
) {
  try {
    await client.delete(Job, { namespace, name }, { propagationPolicy: 'Background' })
    events.normal(CronJob, cronJob, 'SuccessfulDelete', `Deleted job ${name}`)
  } catch (error) {
    if (isNotFound(error)) return
    events.warning(CronJob, cronJob, 'FailedDelete', `Deleted job: ${errorMessage(error)}`)
    throw error
  }
}
