import { ignoreNotFound } from '#api/meta/server-response.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import { ResourceClaim, ResourceSlice } from '#api/resource/v1/kinds.gen.ts'
import { ResourcePoolStatusRequest } from '#api/resource/v1alpha3/kinds.gen.ts'
import type { V1alpha3ResourcePoolStatusRequest } from '#api/resource/v1alpha3/types.gen.ts'
import { defined } from '#base/defined.ts'
import { exponentialBuckets } from '#base/metrics.ts'
import { poolStatus } from '#controllers/resource-pool-status/pool-status.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { defineController, terminal } from '#controllers/runtime/define-controller.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'
import { whereServed } from '#controllers/runtime/where-served.ts'
import { createdMs } from '#controllers/workload/pods.ts'

const hourMs = 3_600_000
const answeredLifetimeMs = hourMs
const pendingLifetimeMs = 24 * hourMs
/** A driver has so many chances to publish the rest of its slices. */
const mostAttempts = 6

const declared = ownMetrics((metrics) => {
  const subsystem = 'resourcepoolstatusrequest_controller'
  return {
    processed: metrics.counter(`${subsystem}_requests_processed_total`, 'Requests that were answered, or should have been'),
    errors: metrics.counter(`${subsystem}_request_processing_errors_total`, 'Answers that could not be written'),
    took: metrics.histogram(
      `${subsystem}_request_processing_duration_seconds`,
      'How long an answer took',
      exponentialBuckets(0.001, 2, 15),
    ),
  }
})

const attempts = new WeakMap<Cache, Map<string, number>>()

/** Answers, once, what there is in a driver's pools; removes requests that were answered an hour ago, or never. */
export const resourcePoolStatusController = whereServed(
  ResourcePoolStatusRequest,
  defineController({
    name: 'resourcepoolstatusrequest-controller',
    serviceAccount: 'resourcepoolstatusrequest-controller',
    isNeeded: ({ isEnabled }) => isEnabled('DRAResourcePoolStatus'),
    for: ResourcePoolStatusRequest,
    reads: [ResourceSlice, ResourceClaim],
    concurrency: 1,

    async reconcile(request, context) {
      const { cache, client, clock, key, requeueAfter } = context
      const startedMs = clock.monotonic()
      const leftMs = dueMs(request) - clock.now()
      if (leftMs <= 0) {
        const { uid } = request.metadata
        await client.delete(ResourcePoolStatusRequest, request.metadata, defined({ uid })).catch(ignoreNotFound)
        return
      }
      requeueAfter(leftMs)
      if (request.status !== undefined) return
      const status = poolStatus(request.spec, cache.list(ResourceSlice), cache.list(ResourceClaim), formatTime(clock.now()))
      if (status.pools?.some(({ validationError }) => validationError !== undefined)) {
        const tried = attemptsOf(cache)
        const count = (tried.get(key) ?? 0) + 1
        tried.set(key, count)
        const incomplete = new Error('incomplete pools detected, requeueing')
        throw count < mostAttempts ? incomplete : terminal(incomplete)
      }
      const { processed, errors, took } = declared(context)
      const driver = { driver_name: request.spec.driver }
      try {
        await client.updateStatus(ResourcePoolStatusRequest, { ...request, status })
      } catch (error) {
        errors.inc(driver)
        throw error
      } finally {
        processed.inc(driver)
        took.observe((clock.monotonic() - startedMs) / 1000, driver)
      }
      attemptsOf(cache).delete(key)
    },
    async reconcileGone(_namespace, _name, { cache, key }) {
      attemptsOf(cache).delete(key)
    },
  }),
)

function attemptsOf(cache: Cache): Map<string, number> {
  const known = attempts.get(cache) ?? new Map<string, number>()
  attempts.set(cache, known)
  return known
}

function dueMs(request: V1alpha3ResourcePoolStatusRequest): number {
  if (request.status === undefined) return createdMs(request) + pendingLifetimeMs
  const answered = request.status.conditions?.find(({ type }) => type === 'Complete' || type === 'Failed')
  return (answered?.lastTransitionTime ? parseTime(answered.lastTransitionTime) : createdMs(request)) + answeredLifetimeMs
}
