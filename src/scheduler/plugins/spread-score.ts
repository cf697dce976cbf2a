/** How well a node would keep pods spread, where spreading is a wish and not a demand. */
import type { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import type { NodeCounts } from '#scheduler/cache/node-counts.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import { maxNodeScore } from '#scheduler/framework/plugin.ts'
import { hasAllKeys, hostname, isCounted, type SpreadConstraint, seesAllNodes } from '#scheduler/plugins/spread-constraints.ts'

export type SpreadScore = {
  /** Nodes that lack a label the pod's own constraints are about: never preferred. */
  readonly ignored: ReadonlySet<string>
  readonly parts: readonly { constraint: SpreadConstraint; counts: NodeCounts; places: ReadonlyMap<string, number>; weight: number }[]
}

export function spreadScore(
  pod: PodInfo,
  feasible: readonly NodeInfo[],
  cache: ClusterCache,
  constraints: readonly SpreadConstraint[],
  needsAllKeys: boolean,
  countsOf: (constraint: SpreadConstraint) => NodeCounts,
): SpreadScore {
  const ignored = new Set<string>()
  if (needsAllKeys) for (const node of feasible) if (!hasAllKeys(node, constraints)) ignored.add(node.name)
  const parts = constraints.map((constraint) => {
    const counts = countsOf(constraint)
    // Nodes are counted one by one when scored; the map is for places that hold several of them.
    if (constraint.key === hostname)
      return { constraint, counts, places: new Map<string, number>(), weight: Math.log(feasible.length - ignored.size + 2) }
    const places = new Map<string, number>()
    for (const node of feasible) if (!ignored.has(node.name)) places.set(node.labels[constraint.key] ?? '', 0)
    if (seesAllNodes(pod, constraint) && (!needsAllKeys || constraints.length === 1)) {
      const byValue = counts.byTopology(constraint.key)
      for (const value of places.keys()) places.set(value, byValue.get(value) ?? 0)
    } else {
      for (const [nodeName, own] of counts.perNode) {
        const node = cache.node(nodeName)
        const sum = places.get(node?.labels[constraint.key] ?? '')
        if (
          node === undefined ||
          sum === undefined ||
          (needsAllKeys && !hasAllKeys(node, constraints)) ||
          !isCounted(constraint, pod, node)
        )
          continue
        places.set(node.labels[constraint.key] ?? '', sum + own)
      }
    }
    return { constraint, counts, places, weight: Math.log(places.size + 2) }
  })
  return { ignored, parts }
}

/** The more of its kind there are around, the higher: turned round when normalized. */
export function scoreOfSpread({ name, labels }: NodeInfo, { ignored, parts }: SpreadScore): number {
  if (ignored.has(name)) return 0
  let score = 0
  for (const { constraint, counts, places, weight } of parts) {
    const value = labels[constraint.key]
    if (value === undefined) continue
    const count = constraint.key === hostname ? (counts.perNode.get(name) ?? 0) : (places.get(value) ?? 0)
    // A larger skew that is allowed waters the difference down.
    score += count * weight + (constraint.maxSkew - 1)
  }
  return Math.round(score)
}

export function normalizeSpread(scores: Float64Array, { ignored }: SpreadScore, nodes: readonly NodeInfo[]): void {
  let lowest = Number.POSITIVE_INFINITY
  let highest = 0
  const isIgnored = (index: number) => ignored.size > 0 && ignored.has(nodes[index]?.name ?? '')
  for (let index = 0; index < scores.length; index++) {
    if (isIgnored(index)) continue
    lowest = Math.min(lowest, scores[index] as number)
    highest = Math.max(highest, scores[index] as number)
  }
  for (let index = 0; index < scores.length; index++) {
    if (isIgnored(index)) scores[index] = 0
    else
      scores[index] = highest === 0 ? maxNodeScore : Math.trunc((maxNodeScore * (highest + lowest - (scores[index] as number))) / highest)
  }
}
