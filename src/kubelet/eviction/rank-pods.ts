/** Whose pods go first when a node has too little. */
import { podRequests } from '#api/core/v1/resources.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { resourceOf, type Signal } from '#kubelet/eviction/signals.ts'
import type { PodUsage } from '#kubelet/stats/usage.ts'

type Compare = (one: V1Pod, other: V1Pod) => number
export type UsageOf = (pod: V1Pod) => PodUsage | undefined

/** The first goes first. */
export function rankPods(pods: readonly V1Pod[], signal: Signal, usageOf: UsageOf): V1Pod[] {
  const resource = resourceOf(signal)
  const excess = (pod: V1Pod) => usedOf(usageOf(pod), signal) - (podRequests(pod.spec)[resource]?.value() ?? 0)
  const byMissing: Compare = (one, other) => Number(usageOf(one) !== undefined) - Number(usageOf(other) !== undefined)
  const byExceeding: Compare = (one, other) => Number(excess(other) > 0) - Number(excess(one) > 0)
  const byPriority: Compare = (one, other) => (one.spec.priority ?? 0) - (other.spec.priority ?? 0)
  const byExcess: Compare = (one, other) => excess(other) - excess(one)
  const order = signal === 'pid.available' ? [byPriority, byExcess] : [byMissing, byExceeding, byPriority, byExcess]
  return pods.toSorted((one, other) => order.reduce((found, compare) => found || compare(one, other), 0))
}

export function usedOf(usage: PodUsage | undefined, signal: Signal): number {
  if (usage === undefined) return 0
  if (signal === 'memory.available') return usage.whole.memory.workingSetBytes
  if (signal === 'pid.available') return usage.whole.processes ?? 0
  const parts = [
    ...usage.containers.flatMap(({ rootFs, logs }) => [rootFs, logs]),
    ...(usage.volumes ?? []).filter(({ claim }) => claim === undefined).map((volume) => volume.usage),
  ]
  const field = signal.endsWith('inodesFree') ? 'inodesUsed' : 'usedBytes'
  return parts.reduce((sum, part) => sum + (part?.[field] ?? 0), 0)
}
