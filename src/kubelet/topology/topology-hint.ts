/** What those who hand out processors, memory and devices say of the NUMA nodes a request could be met from, and the best they agree on. */

import type { NumaNode } from '#kubelet/topology/machine-topology.ts'
import { isNarrower, maskOf, type NumaMask, nodeCount, nodesIn } from '#kubelet/topology/numa-mask.ts'

export type TopologyHint = {
  /** Undefined: any node will do. */
  affinity: NumaMask | undefined
  /** No narrower set of nodes could ever meet the request. */
  isPreferred: boolean
}

/** By resource. An empty list: it cannot be met; undefined: any node will do. */
export type TopologyHints = Readonly<Record<string, readonly TopologyHint[] | undefined>>

export type TopologyPolicyName = 'none' | 'best-effort' | 'restricted' | 'single-numa-node'

export type TopologyPolicy = {
  name: Exclude<TopologyPolicyName, 'none'>
  nodes: readonly NumaNode[]
  prefersClosest: boolean
}

/** The best hint of all, and whether the policy takes the pod with it. */
export function mergeHints(
  policy: TopologyPolicy,
  hintsOfProviders: readonly TopologyHints[],
): { hint: TopologyHint; isAdmitted: boolean } {
  const everywhere = maskOf(policy.nodes.map(({ id }) => id))
  const lists = listsOf(hintsOfProviders)
  if (policy.name !== 'single-numa-node') {
    const hint = bestHint(policy, lists, everywhere)
    return { hint, isAdmitted: policy.name === 'best-effort' || hint.isPreferred }
  }
  const isOfOne = ({ affinity, isPreferred }: TopologyHint) => isPreferred && (affinity === undefined || nodeCount(affinity) === 1)
  const hint = bestHint(
    policy,
    lists.map((list) => list.filter(isOfOne)),
    everywhere,
  )
  return { hint: hint.affinity === everywhere ? { ...hint, affinity: undefined } : hint, isAdmitted: hint.isPreferred }
}

function listsOf(hintsOfProviders: readonly TopologyHints[]): (readonly TopologyHint[])[] {
  return hintsOfProviders.flatMap((hints) => {
    const lists = Object.values(hints)
    if (lists.length === 0) return [[{ affinity: undefined, isPreferred: true }]]
    return lists.map((list) => (list === undefined ? [anywhere(true)] : list.length === 0 ? [anywhere(false)] : list))
  })
}

const anywhere = (isPreferred: boolean): TopologyHint => ({ affinity: undefined, isPreferred })

/** A hint of which the affinity is known. */
type Merged = { affinity: NumaMask; isPreferred: boolean }

function bestHint(policy: TopologyPolicy, lists: readonly (readonly TopologyHint[])[], everywhere: NumaMask): Merged {
  const target = largestOfNarrowest(lists)
  let best: Merged | undefined
  const choose = (index: number, chosen: Merged & { first: NumaMask | undefined }): void => {
    const list = lists[index]
    if (list === undefined) {
      best = better(policy, target, best, chosen)
      return
    }
    for (const { affinity, isPreferred } of list) {
      const first = chosen.first ?? affinity
      choose(index + 1, {
        affinity: affinity === undefined ? chosen.affinity : chosen.affinity & affinity,
        // Only those that want the very same nodes are served best.
        isPreferred: chosen.isPreferred && isPreferred && (affinity === undefined || affinity === first),
        first,
      })
    }
  }
  choose(0, { affinity: everywhere, isPreferred: true, first: undefined })
  return best ?? { affinity: everywhere, isPreferred: false }
}

/** The fewest nodes that could do for whoever needs most of them. */
function largestOfNarrowest(lists: readonly (readonly TopologyHint[])[]): number {
  let largest = 0
  for (const list of lists) {
    let narrowest = Number.POSITIVE_INFINITY
    for (const { affinity } of list) if (affinity !== undefined) narrowest = Math.min(narrowest, nodeCount(affinity))
    if (narrowest !== Number.POSITIVE_INFINITY) largest = Math.max(largest, narrowest)
  }
  return largest
}

function better(
  policy: TopologyPolicy,
  target: number,
  current: Merged | undefined,
  { affinity, isPreferred }: Merged,
): Merged | undefined {
  const candidate = { affinity, isPreferred }
  if (affinity === 0) return current
  if (current === undefined) return candidate
  if (current.isPreferred !== isPreferred) return isPreferred ? candidate : current
  const closer = () => (affinity === current.affinity || wins(policy, current.affinity, affinity) ? current : candidate)
  if (isPreferred) return closer()
  const [now, next] = [nodeCount(current.affinity), nodeCount(affinity)]
  // Nearest to what the neediest one needs; too few nodes are better than too many.
  if (now > target) return closer()
  if (now === target) return next === target ? closer() : current
  if (next > target) return current
  if (next === target || next > now) return candidate
  return next < now ? current : closer()
}

/** Whether the first is to be taken, and not the second. */
function wins({ name, prefersClosest, nodes }: TopologyPolicy, one: NumaMask, other: NumaMask): boolean {
  if (name === 'single-numa-node' || !prefersClosest || nodeCount(one) !== nodeCount(other)) return isNarrower(one, other)
  const difference = averageDistance(nodes, one) - averageDistance(nodes, other)
  return difference === 0 ? one < other : difference < 0
}

function averageDistance(nodes: readonly NumaNode[], mask: NumaMask): number {
  const places = nodesIn(mask).map((id) => nodes.findIndex((node) => node.id === id))
  let sum = 0
  for (const from of places) for (const to of places) sum += nodes[from]?.distances[to] ?? 0
  return places.length === 0 ? 0 : sum / (places.length * places.length)
}
