import { Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1Job } from '#api/batch/v1/types.gen.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { parseTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import { exponentialBuckets } from '#base/metrics.ts'
import { conditionOf } from '#controllers/job/conditions.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const declared = ownMetrics((metrics) =>
  metrics.histogram(
    'ttl_after_finished_controller_job_deletion_duration_seconds',
    'How long after its time was up a job was deleted',
    exponentialBuckets(0.1, 2, 14),
  ),
)

/** Deletes finished jobs when their time is up. */
export const ttlAfterFinishedController = defineController({
  name: 'ttl-after-finished-controller',
  alias: 'ttl-after-finished',
  queueName: 'ttl_jobs_to_delete',
  serviceAccount: 'ttl-after-finished-controller',
  for: Job,
  ignores: (job) => dueMs(job) === undefined,

  async reconcile(job, { client, clock, requeueAfter, metricsRegistry }) {
    const cachedDueMs = dueMs(job)
    if (cachedDueMs === undefined) return
    if (cachedDueMs > clock.now()) return requeueAfter(cachedDueMs - clock.now())
    // Somebody may have given it more time just now.
    const { namespace = '', name = '' } = job.metadata
    const fresh = await client.get(Job, namespace, name).catch(ignoreNotFound)
    const freshDueMs = fresh && dueMs(fresh)
    if (fresh === undefined || freshDueMs === undefined) return
    if (freshDueMs > clock.now()) return requeueAfter(freshDueMs - clock.now())
    const { uid } = fresh.metadata
    await client.delete(Job, fresh.metadata, { propagationPolicy: 'Foreground', ...defined({ uid }) })
    declared({ metricsRegistry }).observe((clock.now() - freshDueMs) / 1000)
  },
})

/** When the job is to go; undefined while it runs, or if it may stay. */
function dueMs(job: V1Job): number | undefined {
  const ttlSeconds = job.spec?.ttlSecondsAfterFinished
  const finish = conditionOf(job, 'Complete') ?? conditionOf(job, 'Failed')
  if (ttlSeconds === undefined || isDeleting(job) || !finish?.lastTransitionTime) return undefined
  return parseTime(finish.lastTransitionTime) + ttlSeconds * 1000
}
