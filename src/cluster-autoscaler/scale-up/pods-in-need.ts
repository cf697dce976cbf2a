import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import { parseDurationMs } from '#base/duration.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import { sameness } from '#cluster-autoscaler/scale-up/pod-groups.ts'
import type { ClusterSnapshot } from '#cluster-autoscaler/snapshot/cluster-snapshot.ts'
import { isDaemonSetPod, isUnschedulable } from '#cluster-autoscaler/snapshot/pod-kinds.ts'
import { type PodInfo, podInfoOf } from '#scheduler/cache/pod-info.ts'

const delayAnnotation = 'cluster-autoscaler.kubernetes.io/pod-scale-up-delay'

/** Pods the scheduler found no node for, and that new nodes could help. */
export function unschedulablePods(snapshot: ClusterSnapshot, { expendablePodsPriorityCutoff }: AutoscalerOptions): PodInfo[] {
  const found: PodInfo[] = []
  for (const pod of snapshot.waitingPods) {
    if (!isUnschedulable(pod) || isDaemonSetPod(pod)) continue
    if ((pod.spec.priority ?? 0) >= expendablePodsPriorityCutoff) found.push(podInfoOf(pod))
  }
  return found
}

/** Takes out those that fit by now, on nodes that are there or will be; they keep their places in the snapshot. */
export async function withoutSchedulable(pods: readonly PodInfo[], snapshot: ClusterSnapshot): Promise<PodInfo[]> {
  const refused = new Set<string>()
  const left: PodInfo[] = []
  for (const pod of pods.toSorted((one, other) => other.priority - one.priority)) {
    if (snapshot.isLong) await snapshot.giveWay()
    const kind = sameness(pod.pod)
    const isHopeless = kind !== undefined && refused.has(kind)
    if (!isHopeless && snapshot.placeAnywhere(pod, () => true) !== undefined) continue
    if (kind !== undefined) refused.add(kind)
    left.push(pod)
  }
  return left
}

/** Takes out those that are too young to be worth a node. */
export function withoutYoung(pods: readonly PodInfo[], { newPodScaleUpDelayMs }: AutoscalerOptions, nowMs: number): PodInfo[] {
  return pods.filter(({ pod }) => createdMs(pod) + Math.max(newPodScaleUpDelayMs, ownDelayMs(pod)) <= nowMs)
}

function ownDelayMs({ metadata }: V1Pod): number {
  const text = metadata.annotations?.[delayAnnotation]
  if (text === undefined) return 0
  try {
    return parseDurationMs(text)
  } catch {
    return 0
  }
}

const createdMs = ({ metadata }: V1Pod): number => (metadata.creationTimestamp ? parseTime(metadata.creationTimestamp) : 0)

/** More of them may be coming: it is better to wait for all and then look once. */
export const areAllNew = (pods: readonly PodInfo[], nowMs: number): boolean => pods.every(({ pod }) => createdMs(pod) + 2000 > nowMs)
