import { PocVerticalPodAutoscaler, VerticalPodAutoscaler } from '#api/autoscaling/vertical/definitions.ts'
import { fitLimitRanges } from '#api/autoscaling/vertical/fit-limit-ranges.ts'
import { recommendedResources } from '#api/autoscaling/vertical/recommended-resources.ts'
import type { VerticalAutoscaler } from '#api/autoscaling/vertical/vertical-autoscaler.ts'
import { LimitRange, Pod } from '#api/core/v1/kinds.gen.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { isNotFound, isReason } from '#api/meta/server-response.ts'
import { parseTime } from '#api/meta/time.ts'
import { errorMessage } from '#base/error-message.ts'
import { defineLoop, type LoopContext } from '#controllers/runtime/define-loop.ts'
import { allAutoscalers, TargetPods } from '#controllers/vertical-pod-autoscaler/autoscalers.ts'
import { byPriority, updatePriority } from '#controllers/vertical-pod-autoscaler/update-priority.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const roundMs = 60_000
const defaultMinReplicas = 2
/** Of the pods of a controller, so many may be away at a time because of this. */
const awayShare = 0.5
const deferredMs = 5 * 60_000
const resizingMs = 60 * 60_000

/** Gives pods what is recommended for them: in place where that is wanted and works, by eviction otherwise. */
export const verticalUpdater = defineLoop({
  name: 'vertical-pod-autoscaler-updater',
  serviceAccount: 'vpa-updater',
  reads: [Pod, LimitRange, VerticalPodAutoscaler, PocVerticalPodAutoscaler],
  periodMs: () => roundMs,
  begin: (context) => {
    const { client, cache, clock, logger } = context
    const targets = new TargetPods({ client, cache, now: () => clock.now() })
    return async () => {
      for (const { key, autoscaler } of allAutoscalers(cache)) {
        if (autoscaler.mode === 'Off' || autoscaler.mode === 'Initial' || autoscaler.recommendations.length === 0) continue
        try {
          const pods = (await targets.of(autoscaler)).filter((pod) => !isDeleting(pod) && !isPodFinished(pod))
          for (const [owner, group] of Map.groupBy(pods, (pod) => controllerOf(pod)?.uid ?? '')) {
            // Nobody would make a pod without a controller again.
            if (owner !== '') await updateGroup(autoscaler, group, context)
          }
        } catch (error) {
          if (!isNotFound(error)) logger.warn('failed to update pods', { verticalPodAutoscaler: key, error: errorMessage(error) })
        }
      }
    }
  },
})

async function updateGroup(autoscaler: VerticalAutoscaler, pods: readonly V1Pod[], context: LoopContext): Promise<void> {
  if (pods.length < (autoscaler.minReplicas ?? defaultMinReplicas)) return
  const running = pods.filter(({ status }) => status?.phase === 'Running').length
  const tolerated = Math.floor(pods.length * awayShare)
  let mayGo = Math.max(running - (pods.length - tolerated), tolerated === 0 && running === pods.length ? 1 : 0)
  const ranges = context.cache.list(LimitRange, autoscaler.namespace)
  const due = pods
    .flatMap((pod) => {
      const fitted = fitLimitRanges(autoscaler, pod.spec.containers, ranges)
      const priority = updatePriority(pod, fitted, context.clock.now())
      return priority === undefined ? [] : [{ pod, fitted, priority }]
    })
    .sort((one, other) => byPriority(one.priority, other.priority))
  for (const { pod, fitted } of due) {
    const isInPlace = autoscaler.mode === 'InPlaceOrRecreate' && (await resized(pod, fitted, context))
    if (isInPlace) continue
    const isRunning = pod.status?.phase === 'Running'
    if (isRunning && mayGo <= 0) continue
    if ((await evicted(pod, context)) && isRunning) mayGo--
  }
}

/** False where it is not to be had: then the pod has to go. */
async function resized(pod: V1Pod, autoscaler: VerticalAutoscaler, { client, clock, events, logger }: LoopContext): Promise<boolean> {
  const pending = findCondition(pod.status?.conditions ?? [], 'PodResizePending')
  const inProgress = findCondition(pod.status?.conditions ?? [], 'PodResizeInProgress')
  const sinceMs = (condition: typeof pending) =>
    clock.now() - (condition?.lastTransitionTime ? parseTime(condition.lastTransitionTime) : clock.now())
  if (pending !== undefined && (pending.reason === 'Infeasible' || sinceMs(pending) > deferredMs)) return false
  if (inProgress !== undefined) return sinceMs(inProgress) <= resizingMs
  if (pending !== undefined) return true
  const containers = pod.spec.containers.flatMap((container) => {
    const resources = recommendedResources(autoscaler, container)
    return resources === undefined ? [] : [{ name: container.name, resources }]
  })
  try {
    await client.patch(Pod, pod.metadata, { spec: { containers } }, { subresource: 'resize' })
    events.normal(Pod, pod, 'InPlaceResizedByVPA', 'Pod was resized in place by VPA Updater.')
    return true
  } catch (error) {
    logger.info('pod cannot be resized in place', { namespace: pod.metadata.namespace, pod: pod.metadata.name, error: errorMessage(error) })
    return false
  }
}

/** Within the disruption budgets: the server refuses what they do not allow. */
async function evicted(pod: V1Pod, { client, events }: LoopContext): Promise<boolean> {
  const { namespace = '', name = '', uid = '' } = pod.metadata
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name }, deleteOptions: { preconditions: { uid } } }
  try {
    await client.subresource('POST', Pod, { namespace, name }, 'eviction', eviction)
    events.normal(Pod, pod, 'EvictedByVPA', 'Pod was evicted by VPA Updater to apply resource recommendation.')
    return true
  } catch (error) {
    if (isReason(error, 'TooManyRequests') || isNotFound(error)) return false
    throw error
  }
}
