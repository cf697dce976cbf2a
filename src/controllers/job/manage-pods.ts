/** Makes the pods a job is short of, and ends those it has too many of. */

import { Job } from '#api/batch/v1/kinds.gen.ts'
import type { V1Job } from '#api/batch/v1/types.gen.ts'
import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { append, smallest } from '#base/append.ts'
import { defined } from '#base/defined.ts'
import { countCreatedPods, type JobAction } from '#controllers/job/job-metrics.ts'
import {
  backoffLeftForIndexMs,
  backoffLeftMs,
  completionIndex,
  countOf,
  countsAsFailure,
  failureCountAnnotation,
  hasLimitPerIndex,
  ignoredFailureCountAnnotation,
  indexAnnotation,
  isIndexed,
  isSuspended,
  isTracked,
  onlyReplacesFailed,
  trackingFinalizer,
} from '#controllers/job/job-pods.ts'
import type { JobState } from '#controllers/job/job-state.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { cheapestToLose } from '#controllers/workload/cheapest-to-lose.ts'
import { createPod, deletePod, isNamespaceTerminating, podFromTemplate } from '#controllers/workload/pod-writes.ts'
import { isTerminating } from '#controllers/workload/pods.ts'
import { burst, createsAtOnce, podsToMake } from '#controllers/workload/pods-at-once.ts'
import { firstFailure, inBatches, inSlowStartBatches } from '#controllers/workload/slow-start.ts'

export type Managed = { created: number; deleted: readonly V1Pod[]; action: JobAction; error?: unknown }

const nothing: Managed = { created: 0, deleted: [], action: 'tracking' }

export async function managePods(look: JobState, context: ReconcileContext): Promise<Managed> {
  const { job, active, succeeded } = look
  const { spec } = job
  if (spec === undefined) return nothing
  if (isSuspended(job)) return end(look, active, context)
  const parallelism = spec.parallelism ?? 1
  const wanted =
    spec.completions === undefined
      ? succeeded > 0
        ? active.length
        : parallelism
      : Math.max(0, Math.min(parallelism, spec.completions - succeeded))
  const surplus = surplusPods(look, active.length - wanted, context.clock.now())
  // Either ending or making pods in one look, never both.
  if (surplus.length > 0) return end(look, surplus.slice(0, burst), context)
  const terminating = onlyReplacesFailed(job) ? look.pods.filter(isTerminating).length : 0
  const missing = podsToMake(wanted - terminating - active.length, active)
  return missing > 0 ? make(look, missing, context) : nothing
}

/** Those that share an index with another come first. */
function surplusPods({ job, active }: JobState, atLeast: number, nowMs: number): V1Pod[] {
  const surplus: V1Pod[] = []
  let left = [...active]
  if (isIndexed(job)) {
    const seen = new Set<number>()
    left = []
    for (const pod of cheapestToLose(active, [], active.length, nowMs).reverse()) {
      const index = completionIndex(pod, job)
      if (index === undefined || seen.has(index)) {
        surplus.push(pod)
      } else {
        seen.add(index)
        left.push(pod)
      }
    }
  }
  if (surplus.length < atLeast) append(surplus, cheapestToLose(left, [], atLeast - surplus.length, nowMs))
  return surplus
}

/** These do not count as failed: they lose their finalizer before they are deleted. */
async function end({ job }: JobState, pods: readonly V1Pod[], context: ReconcileContext): Promise<Managed> {
  const outcomes = await inBatches(pods, { clock: context.clock, atOnce: burst }, async (pod) => {
    if (isTracked(pod)) await removeTracking(pod, context)
    await deletePod(context, { kind: Job, object: job }, pod)
  })
  const failed = firstFailure(outcomes)
  const deleted = pods.filter((_, index) => outcomes[index]?.status === 'fulfilled')
  return { created: 0, deleted, action: 'pods_deleted', ...defined({ error: failed?.reason }) }
}

export async function removeTracking({ metadata }: V1Pod, { client }: ReconcileContext): Promise<void> {
  const patch = { metadata: { uid: metadata.uid, '$deleteFromPrimitiveList/finalizers': [trackingFinalizer] } }
  await client.patch(Pod, metadata, patch).catch(ignoreNotFound)
}

async function make(look: JobState, missing: number, context: ReconcileContext): Promise<Managed> {
  const { job, pods } = look
  const nowMs = context.clock.now()
  const leftMs = hasLimitPerIndex(job) ? 0 : backoffLeftMs(job, pods, nowMs)
  if (leftMs > 0) {
    context.requeueAfter(leftMs)
    return { ...nothing, action: 'pods_created' }
  }
  let indexes: number[] | undefined
  if (isIndexed(job)) {
    const pending = pendingIndexes(look, missing)
    const waits = pending.map((index) => backoffLeftForIndexMs(look.awaitingReplacement.get(index), nowMs))
    indexes = pending.filter((_, position) => !hasLimitPerIndex(job) || waits[position] === 0)
    if (indexes.length === 0 && pending.length > 0) context.requeueAfter(smallest(Number.POSITIVE_INFINITY, waits))
  }
  const owner = { kind: Job, object: job }
  let created = 0
  let failed = 0
  const pace = { clock: context.clock, atOnce: createsAtOnce(job.spec?.template) }
  const { error } = await inSlowStartBatches(indexes?.length ?? missing, pace, async (position) => {
    try {
      await createPod(context, owner, podOf(look, indexes?.[position]))
      created++
    } catch (thrown) {
      if (isNamespaceTerminating(thrown)) return
      failed++
      throw thrown
    }
  })
  const replaced = { failed: look.failed, terminating: pods.filter(isTerminating).length }
  countCreatedPods(job, { succeeded: created, failed, replaced }, context)
  return { created, deleted: [], action: 'pods_created', ...defined({ error }) }
}

/** The first indexes that neither run, nor are done, nor are given up. */
function pendingIndexes({ job, pods, active, succeededIndexes, failedIndexes }: JobState, count: number): number[] {
  const busy = new Set(active.map((pod) => completionIndex(pod, job)))
  if (onlyReplacesFailed(job)) for (const pod of pods.filter(isTerminating)) busy.add(completionIndex(pod, job))
  const pending: number[] = []
  for (let index = 0; index < (job.spec?.completions ?? 0) && pending.length < count; index++) {
    const lastOver = succeededIndexes.lastInRow(index) ?? failedIndexes?.lastInRow(index)
    if (lastOver !== undefined) index = lastOver
    else if (!busy.has(index)) pending.push(index)
  }
  return pending
}

function podOf({ job, awaitingReplacement }: JobState, index: number | undefined): V1Pod {
  const template = job.spec?.template ?? { spec: { containers: [] } }
  const pod = podFromTemplate({ kind: Job, object: job }, template)
  pod.metadata.finalizers = [...(pod.metadata.finalizers ?? []).filter((each) => each !== trackingFinalizer), trackingFinalizer]
  if (index === undefined) return pod
  const { name = '' } = job.metadata
  pod.metadata.generateName = `${name.slice(0, 58 - 1 - `-${index}-`.length)}-${index}-`
  pod.metadata.labels = { ...pod.metadata.labels, [indexAnnotation]: String(index) }
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [indexAnnotation]: String(index),
    ...failureCounts(job, awaitingReplacement.get(index)),
  }
  pod.spec.hostname = `${name}-${index}`
  const variable = { name: 'JOB_COMPLETION_INDEX', valueFrom: { fieldRef: { fieldPath: `metadata.labels['${indexAnnotation}']` } } }
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
    if (!container.env?.some((each) => each.name === variable.name)) container.env = [...(container.env ?? []), variable]
  }
  return pod
}

function failureCounts(job: V1Job, replaced: V1Pod | undefined): Record<string, string> {
  if (!hasLimitPerIndex(job)) return {}
  const counts = replaced !== undefined && countsAsFailure(replaced, job)
  const failures = replaced === undefined ? 0 : countOf(replaced, failureCountAnnotation) + Number(counts)
  const ignored = replaced === undefined ? 0 : countOf(replaced, ignoredFailureCountAnnotation) + Number(!counts)
  return {
    [failureCountAnnotation]: String(failures),
    ...defined({ [ignoredFailureCountAnnotation]: ignored > 0 ? String(ignored) : undefined }),
  }
}
