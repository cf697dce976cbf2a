/** Who goes first. */
import { podQosClass } from '#api/core/v1/resources.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'

/** Asks to be spared if others can go. */
export const preferNoEvictionAnnotation = 'descheduler.alpha.kubernetes.io/prefer-no-eviction'

const qosRank = { BestEffort: 0, Burstable: 1, Guaranteed: 2 }

/** Pods without a priority, then low ones; of equal ones those with the least promises, and those that do not mind. */
export function leastImportantFirst(pods: readonly V1Pod[]): V1Pod[] {
  const rank = (pod: V1Pod): [number, number, number] => [
    pod.spec.priority ?? Number.NEGATIVE_INFINITY,
    qosRank[podQosClass(pod)],
    pod.metadata.annotations?.[preferNoEvictionAnnotation] === undefined ? 0 : 1,
  ]
  const ranked = pods.map((pod) => ({ pod, rank: rank(pod) }))
  const compare = (one: number, other: number) => (one < other ? -1 : one > other ? 1 : 0)
  return ranked
    .sort((a, b) => compare(a.rank[0], b.rank[0]) || compare(a.rank[1], b.rank[1]) || compare(a.rank[2], b.rank[2]))
    .map(({ pod }) => pod)
}

export const oldestFirst = (pods: readonly V1Pod[]): V1Pod[] =>
  pods.toSorted((one, other) => {
    const [a, b] = [one.metadata.creationTimestamp ?? '', other.metadata.creationTimestamp ?? '']
    return a < b ? -1 : a > b ? 1 : 0
  })
