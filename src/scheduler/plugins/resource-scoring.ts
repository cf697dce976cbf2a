/** How full a node would be, as scores: least allocated, most allocated, or along a given line. */
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import { isScalarResource } from '#scheduler/cache/resources.ts'
import { maxNodeScore } from '#scheduler/framework/plugin.ts'

export type ScoredResource = { name: string; weight?: number }
export type ShapePoint = { utilization: number; score: number }
export type ScoringStrategy = {
  type?: 'LeastAllocated' | 'MostAllocated' | 'RequestedToCapacityRatio'
  resources?: ScoredResource[]
  requestedToCapacityRatio?: { shape?: ShapePoint[] }
}

/** From what would be in use and what there is to a score of 0 to 100. */
export type FillScore = (used: number, capacity: number) => number

const leastAllocated: FillScore = (used, capacity) => (used > capacity ? 0 : Math.trunc(((capacity - used) * maxNodeScore) / capacity))

/** More may be in use than there is, since pods that ask for nothing are taken to use a little. */
const mostAllocated: FillScore = (used, capacity) => Math.trunc((Math.min(used, capacity) * maxNodeScore) / capacity)

function alongLine(shape: readonly ShapePoint[]): FillScore {
  // Shapes score from 0 to 10.
  const points = shape.map(({ utilization, score }) => ({ utilization, score: score * (maxNodeScore / 10) }))
  const at = (percent: number): number => {
    for (const [index, point] of points.entries()) {
      if (percent > point.utilization) continue
      const before = points[index - 1]
      if (before === undefined) return point.score
      return (
        before.score +
        Math.trunc(((point.score - before.score) * (percent - before.utilization)) / (point.utilization - before.utilization))
      )
    }
    return points.at(-1)?.score ?? 0
  }
  return (used, capacity) => at(used > capacity ? 100 : Math.trunc((used * 100) / capacity))
}

/** What the pod asks for of a resource, as scores count it. */
export function scoredRequest(pod: PodInfo, resource: string, countsDefaults: boolean): number {
  switch (resource) {
    case 'cpu':
      return countsDefaults ? pod.nonZeroCpuMillis : pod.requests.cpuMillis
    case 'memory':
      return countsDefaults ? pod.nonZeroMemory : pod.requests.memory
    case 'ephemeral-storage':
      return pod.requests.ephemeralStorage
    default:
      return pod.requests.scalars?.get(resource) ?? 0
  }
}

/** 0 when the resource plays no role on this node for this pod. */
export function scoredCapacity({ allocatable }: NodeInfo, resource: string, podRequest: number): number {
  switch (resource) {
    case 'cpu':
      return allocatable.cpuMillis
    case 'memory':
      return allocatable.memory
    case 'ephemeral-storage':
      return allocatable.ephemeralStorage
    default:
      if (podRequest === 0 && isScalarResource(resource)) return 0
      return allocatable.scalars?.get(resource) ?? 0
  }
}

export function scoredUse(node: NodeInfo, resource: string, countsDefaults: boolean): number {
  switch (resource) {
    case 'cpu':
      return countsDefaults ? node.nonZeroCpuMillis : node.requested.cpuMillis
    case 'memory':
      return countsDefaults ? node.nonZeroMemory : node.requested.memory
    case 'ephemeral-storage':
      return node.requested.ephemeralStorage
    default:
      return node.requested.scalars?.get(resource) ?? 0
  }
}

export function fillScoreOf(strategy: ScoringStrategy): FillScore {
  if (strategy.type === 'MostAllocated') return mostAllocated
  if (strategy.type === 'RequestedToCapacityRatio') return alongLine(strategy.requestedToCapacityRatio?.shape ?? [])
  return leastAllocated
}
