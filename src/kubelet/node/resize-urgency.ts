import { podQosClass, podRequests } from '#api/core/v1/resources.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'

/** The pod as it is wanted, and as the node has allocated it. */
export type ResizedPod = { wanted: V1Pod; allocated: V1Pod }

/** For sorting: those that ask for less first, then the more important ones. */
export function byUrgency(one: ResizedPod, other: ResizedPod): number {
  const rank = ({ wanted, allocated }: ResizedPod) => {
    const asks = podRequests(wanted.spec)
    const has = podRequests(allocated.spec)
    const isMore = ['cpu', 'memory'].some((name) => (asks[name]?.toNumber() ?? 0) > (has[name]?.toNumber() ?? 0))
    return [isMore ? 1 : 0, -(wanted.spec.priority ?? 0), podQosClass(wanted) === 'Guaranteed' ? 0 : 1]
  }
  const [left, right] = [rank(one), rank(other)]
  return left.map((value, index) => value - (right[index] ?? 0)).find((difference) => difference !== 0) ?? 0
}
