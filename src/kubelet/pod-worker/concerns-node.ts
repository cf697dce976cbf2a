import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { ownConditions } from '#kubelet/pod-worker/pod-conditions.ts'

/**
 * Whether a newer version of a pod has something for its node to do. Most have not: they bring back the status that the node wrote
 * itself. What others say in it counts, such as a readiness gate, a pod that has ended, or one that is to be disrupted.
 */
export function concernsNode(before: V1Pod, after: V1Pod): boolean {
  if (before === after) return true
  if (before.spec !== after.spec && !equalJson(before.spec, after.spec)) return true
  return !equalJson(partForNode(before), partForNode(after))
}

function partForNode({ metadata, status }: V1Pod): object {
  const { labels, annotations, generation, deletionTimestamp, deletionGracePeriodSeconds, finalizers } = metadata
  const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed'
  const others = (status?.conditions ?? []).filter(({ type }) => !ownConditions.includes(type))
  const { resourceClaimStatuses, qosClass } = status ?? {}
  return {
    ...{ labels, annotations, generation, deletionTimestamp, deletionGracePeriodSeconds, finalizers },
    ...{ hasEnded, others, resourceClaimStatuses, qosClass },
  }
}
