/** What controllers ask of pods. */

import { isPodFinished, isPodReady } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod, V1PodCondition } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { parseTime } from '#api/meta/time.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import { largest } from '#base/append.ts'

export const isDeleting = ({ metadata }: { metadata?: V1ObjectMeta }): boolean => metadata?.deletionTimestamp !== undefined

export const isActive = (pod: V1Pod): boolean => !isPodFinished(pod) && !isDeleting(pod)

/** Asked to go, and still there. */
export const isTerminating = (pod: V1Pod): boolean => !isPodFinished(pod) && isDeleting(pod)

export function podCondition({ status }: V1Pod, type: string): V1PodCondition | undefined {
  return findCondition(status?.conditions, type)
}

/** When the pod became ready; undefined when it is not, or nobody said when. */
export function readySinceMs(pod: V1Pod): number | undefined {
  const condition = podCondition(pod, 'Ready')
  return condition?.status === 'True' && condition.lastTransitionTime ? parseTime(condition.lastTransitionTime) : undefined
}

/** Ready, and that for long enough. */
export function isAvailable(pod: V1Pod, minReadySeconds: number, nowMs: number): boolean {
  if (!isPodReady(pod)) return false
  if (minReadySeconds === 0) return true
  const sinceMs = readySinceMs(pod)
  return sinceMs !== undefined && sinceMs + minReadySeconds * 1000 <= nowMs
}

/** How long until the next of these pods has been ready for long enough; undefined when none is on its way. */
export function nextAvailabilityMs(pods: readonly V1Pod[], minReadySeconds: number, nowMs: number): number | undefined {
  let next: number | undefined
  for (const pod of pods) {
    const sinceMs = readySinceMs(pod)
    if (sinceMs === undefined) continue
    const leftMs = sinceMs + minReadySeconds * 1000 - nowMs
    if (leftMs > 0 && (next === undefined || leftMs < next)) next = leftMs
  }
  return next
}

export function restartCount({ status }: V1Pod): number {
  return largest(
    0,
    (status?.containerStatuses ?? []).map((container) => container.restartCount),
  )
}

export const createdMs = ({ metadata }: { metadata: V1ObjectMeta }): number =>
  metadata.creationTimestamp ? parseTime(metadata.creationTimestamp) : 0

/** Oldest first; those of the same second by name. */
export function byAge(left: { metadata: V1ObjectMeta }, right: { metadata: V1ObjectMeta }): number {
  return createdMs(left) - createdMs(right) || ((left.metadata.name ?? '') < (right.metadata.name ?? '') ? -1 : 1)
}

/** When a finished pod finished: when its last container did, or else when it stopped being ready. */
export function finishedSinceMs(pod: V1Pod): number {
  const ends = (pod.status?.containerStatuses ?? []).map(({ state }) => state?.terminated?.finishedAt)
  if (ends.length > 0 && ends.every((end) => end))
    return largest(
      Number.NEGATIVE_INFINITY,
      ends.map((end) => parseTime(end ?? '')),
    )
  const ready = podCondition(pod, 'Ready')
  if (ready?.status === 'False' && ready.lastTransitionTime) return parseTime(ready.lastTransitionTime)
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata
  return deletionTimestamp ? parseTime(deletionTimestamp) - deletionGracePeriodSeconds * 1000 : createdMs(pod)
}
