/** What pods are to the autoscaler. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { controllerOf } from '#api/meta/owner-references.ts'

export const isMirrorPod = ({ metadata }: V1Pod): boolean => metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined

export const isDaemonSetPod = (pod: V1Pod): boolean =>
  controllerOf(pod)?.kind === 'DaemonSet' || pod.metadata.annotations?.['cluster-autoscaler.kubernetes.io/daemonset-pod'] === 'true'

/** The scheduler has tried, and found no node. */
export function isUnschedulable({ spec, status, metadata }: V1Pod): boolean {
  if (spec.nodeName || status?.nominatedNodeName || metadata.deletionTimestamp !== undefined) return false
  const condition = findCondition(status?.conditions ?? [], 'PodScheduled')
  return condition?.status === 'False' && condition.reason === 'Unschedulable'
}
