import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { isNodeReady } from '#api/core/v1/node/node-ready.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Node, V1Pod, V1PodCondition } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import { defineLoop, type LoopContext } from '#controllers/runtime/define-loop.ts'
import { ownMetrics } from '#controllers/runtime/own-metrics.ts'
import { createdMs, isDeleting } from '#controllers/workload/pods.ts'

/** A node that was not there the first time may only be late. */
const quarantineMs = 40_000

const declared = ownMetrics((metrics) => ({
  deleted: metrics.counter('pod_gc_collector_force_delete_pods_total', 'Pods that were deleted without waiting for their nodes'),
  failed: metrics.counter('pod_gc_collector_force_delete_pod_errors_total', 'Such deletions that failed'),
}))

/** Removes pods that nobody will ever end: on nodes that are gone, never placed, or finished long ago. */
export const podGarbageCollector = defineLoop({
  name: 'pod-garbage-collector-controller',
  alias: 'podgc',
  serviceAccount: 'pod-garbage-collector',
  reads: [Pod, Node],
  periodMs: () => 20_000,

  begin(context) {
    const { cache, clock, settings } = context
    const missingSinceMs = new Map<string, number>()
    return async () => {
      const pods = cache.list(Pod)
      if (settings.terminatedPodGcThreshold > 0) {
        const finished = pods.filter(isPodFinished)
        const surplus = finished.length - settings.terminatedPodGcThreshold
        if (surplus > 0) for (const pod of evictedAndOldFirst(finished).slice(0, surplus)) await remove(pod, 'terminated', context)
      }
      for (const pod of pods) {
        if (!isDeleting(pod)) continue
        const node = pod.spec.nodeName ? cache.get(Node, '', pod.spec.nodeName) : undefined
        if (!pod.spec.nodeName) await remove(pod, 'unscheduled', context)
        else if (node !== undefined && isOutOfService(node)) await remove(pod, 'out-of-service', context)
      }
      const gone = await goneNodes(pods, missingSinceMs, clock.now(), context)
      for (const pod of pods) {
        if (!pod.spec.nodeName || !gone.has(pod.spec.nodeName)) continue
        await remove(pod, 'orphaned', context, {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'DeletionByPodGC',
          message: 'PodGC: node no longer exists',
          lastTransitionTime: formatTime(clock.now()),
        })
      }
    }
  },
})

/** Nodes that pods name, that have been missing for the whole quarantine, and that the server does not know either. */
async function goneNodes(pods: readonly V1Pod[], missingSinceMs: Map<string, number>, nowMs: number, { cache, client }: LoopContext) {
  const missing = new Set(pods.map(({ spec }) => spec.nodeName ?? '').filter((name) => name !== '' && !cache.get(Node, '', name)))
  for (const name of missingSinceMs.keys()) if (!missing.has(name)) missingSinceMs.delete(name)
  const gone = new Set<string>()
  for (const name of missing) {
    const sinceMs = missingSinceMs.get(name) ?? nowMs
    missingSinceMs.set(name, sinceMs)
    if (nowMs - sinceMs < quarantineMs) continue
    const isThere = await client.get(Node, '', name).then(
      () => true,
      (error: unknown) => !isNotFound(error),
    )
    if (!isThere) gone.add(name)
  }
  return gone
}

function isOutOfService(node: V1Node): boolean {
  return !isNodeReady(node) && (node.spec?.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/out-of-service')
}

function evictedAndOldFirst(pods: readonly V1Pod[]): V1Pod[] {
  const keyed = pods.map((pod) => ({ pod, isEvicted: Number(isEvicted(pod)), ageMs: createdMs(pod), name: pod.metadata.name ?? '' }))
  keyed.sort((one, other) => other.isEvicted - one.isEvicted || one.ageMs - other.ageMs || (one.name < other.name ? -1 : 1))
  return keyed.map(({ pod }) => pod)
}

const isEvicted = ({ status }: V1Pod): boolean => status?.phase === 'Failed' && status.reason === 'Evicted'

/** Marks the pod as failed first, since there is no kubelet that would, and then deletes it at once. */
async function remove(pod: V1Pod, reason: string, context: LoopContext, condition?: V1PodCondition): Promise<void> {
  const { client, logger } = context
  const { deleted, failed } = declared(context)
  const labels = { namespace: pod.metadata.namespace ?? '', reason }
  deleted.inc(labels)
  try {
    if (!isPodFinished(pod)) {
      const conditions = condition === undefined ? {} : { conditions: [condition] }
      await client.patch(
        Pod,
        pod.metadata,
        { metadata: { uid: pod.metadata.uid }, status: { phase: 'Failed', ...conditions } },
        { subresource: 'status' },
      )
    }
    await client.delete(Pod, pod.metadata, { gracePeriodSeconds: 0 })
  } catch (error) {
    if (isNotFound(error)) return
    failed.inc(labels)
    logger.warn('failed to garbage collect pod', { pod: pod.metadata.name, error: String(error) })
  }
}
