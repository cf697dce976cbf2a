import type { V1Node, V1Pod, V1TopologySpreadConstraint } from '#api/core/v1/types.gen.ts'
import type { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import { NodeCounts, TopologyTally } from '#scheduler/cache/node-counts.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import type { ClusterObjects } from '#scheduler/cluster-objects.ts'
import { on, when } from '#scheduler/framework/cluster-event.ts'
import { deepEqual } from '#scheduler/framework/deep-equal.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, unresolvable, unschedulable } from '#scheduler/framework/status.ts'
import {
  constraintsOf,
  hasAllKeys,
  isCounted,
  type SpreadConstraint,
  seesAllNodes,
  selectorOfOwners,
  systemDefaults,
} from '#scheduler/plugins/spread-constraints.ts'
import { normalizeSpread, type SpreadScore, scoreOfSpread, spreadScore } from '#scheduler/plugins/spread-score.ts'

const uneven = unschedulable("node(s) didn't match pod topology spread constraints")
const unlabelled = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")

export type PodTopologySpreadArgs = { defaultConstraints?: V1TopologySpreadConstraint[]; defaultingType?: 'System' | 'List' }

type Domains = {
  readonly constraint: SpreadConstraint
  readonly tally: TopologyTally
  /** How many places there are. */
  readonly count: number
  /** The two emptiest places: enough to know the emptiest after pods left or came on one node. */
  readonly emptiest: [Place, Place]
  readonly isSelfMatching: boolean
}
type Place = { value: string | undefined; pods: number }

/** Spreads pods that belong together evenly over zones, nodes, or whatever label tells places apart. */
export function podTopologySpread(args: PodTopologySpreadArgs, { cache, objects }: { cache: ClusterCache; objects: ClusterObjects }) {
  const isSystemDefaulted = args.defaultingType !== 'List'
  const defaults = isSystemDefaulted ? systemDefaults : (args.defaultConstraints ?? [])
  const hasHardDefaults = defaults.some(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule')
  const hasSoftDefaults = defaults.some(({ whenUnsatisfiable }) => whenUnsatisfiable === 'ScheduleAnyway')

  function wanted(pod: V1Pod, action: 'DoNotSchedule' | 'ScheduleAnyway'): SpreadConstraint[] {
    if (pod.spec.topologySpreadConstraints?.length) return constraintsOf(pod, action)
    if (action === 'DoNotSchedule' ? !hasHardDefaults : !hasSoftDefaults) return []
    const selector = selectorOfOwners(pod, objects)
    return selector === undefined ? [] : constraintsOf(pod, action, defaults).map((each) => ({ ...each, selector }))
  }
  // A selector that selects every pod counts none of them, as upstream has it.
  const nobody = new NodeCounts(cache.topology)
  const countsOf = (pod: PodInfo, { selector }: SpreadConstraint) =>
    selector.isEmpty ? nobody : cache.pods.counts({ namespaces: new Set([pod.namespace]), selectors: [selector], countsTerminating: false })

  const helpsAfterPodChange = (pod: V1Pod, before: V1Pod | undefined, after: V1Pod | undefined): boolean => {
    if ((after && !isInvolved(after, pod)) || (before && !isInvolved(before, pod))) return false
    const constraints = wanted(pod, 'DoNotSchedule')
    const matchesAny = ({ metadata }: V1Pod) => constraints.some(({ selector }) => selector.matches(metadata.labels))
    if (before && after) {
      const isTolerant = !deepEqual(before.spec.tolerations, after.spec.tolerations) && constraints.some(({ honorsTaints }) => honorsTaints)
      if (pod.metadata.uid === after.metadata.uid && isTolerant) return true
      return constraints.some(({ selector }) => selector.matches(before.metadata.labels) !== selector.matches(after.metadata.labels))
    }
    const changed = after ?? before
    return changed !== undefined && matchesAny(changed)
  }
  const helpsAfterNodeChange = (pod: V1Pod, before: V1Node | undefined, after: V1Node | undefined): boolean => {
    const constraints = wanted(pod, 'DoNotSchedule')
    const matches = (node: V1Node | undefined) => node !== undefined && hasAllKeys({ labels: node.metadata.labels ?? {} }, constraints)
    if (!before || !after || matches(before) !== matches(after)) return matches(before) || matches(after)
    const hasMoved = constraints.some(({ key }) => before.metadata.labels?.[key] !== after.metadata.labels?.[key])
    return matches(after) && (hasMoved || !deepEqual(before.spec?.taints, after.spec?.taints))
  }

  return defineSchedulerPlugin<readonly Domains[], SpreadScore>({
    name: 'PodTopologySpread',
    retryOn: [
      ...[on.pod.added, on.pod.labelsChanged, on.pod.tolerationsChanged, on.pod.deleted].map((event) => when(event, helpsAfterPodChange)),
      ...[on.node.added, on.node.deleted, on.node.labelsChanged, on.node.taintsChanged].map((event) => when(event, helpsAfterNodeChange)),
    ],

    preFilter(pod) {
      const constraints = wanted(pod.pod, 'DoNotSchedule')
      return constraints.length === 0 ? 'skip' : { state: constraints.map((each) => domainsOf(pod, each, constraints)) }
    },
    cloneState: (state) =>
      state.map((domains) => ({
        ...domains,
        tally: domains.tally.clone(),
        emptiest: [{ ...domains.emptiest[0] }, { ...domains.emptiest[1] }],
      })),
    addPod: (state, pod, added, node) => recount(state, pod, added, node, 1),
    removePod: (state, pod, removed, node) => recount(state, pod, removed, node, -1),

    filter(_, { labels }, state) {
      for (const { constraint, tally, count, emptiest, isSelfMatching } of state) {
        const value = labels[constraint.key]
        if (value === undefined) return unlabelled
        // Too few places: the ones that are missing count as empty.
        const fewest = count < constraint.minDomains ? 0 : emptiest[0].pods
        if (tally.at(value) + (isSelfMatching ? 1 : 0) - fewest > constraint.maxSkew) return uneven
      }
      return fits
    },

    preScore(pod, nodes) {
      const constraints = wanted(pod.pod, 'ScheduleAnyway')
      if (constraints.length === 0) return 'skip'
      const needsAllKeys = Boolean(pod.pod.spec.topologySpreadConstraints?.length) || !isSystemDefaulted
      return spreadScore(pod, nodes, cache, constraints, needsAllKeys, (constraint) => countsOf(pod, constraint))
    },
    score: (_, node, state) => scoreOfSpread(node, state),
    normalize: normalizeSpread,
  })

  function domainsOf(pod: PodInfo, constraint: SpreadConstraint, all: readonly SpreadConstraint[]): Domains {
    const places = seesAllNodes(pod, constraint) && all.length === 1 ? allPlaces(pod, constraint) : countedPlaces(pod, constraint, all)
    const emptiest: [Place, Place] = [noPlace(), noPlace()]
    for (const [value, pods] of places) rank(emptiest, value, pods)
    return {
      constraint,
      tally: new TopologyTally(constraint.key, [places]),
      count: places.size,
      emptiest,
      isSelfMatching: constraint.selector.matches(pod.pod.metadata.labels),
    }
  }

  function allPlaces(pod: PodInfo, constraint: SpreadConstraint): Map<string, number> {
    const byValue = countsOf(pod, constraint).byTopology(constraint.key)
    const places = new Map<string, number>()
    for (const value of cache.topologyValues(constraint.key)) places.set(value, byValue.get(value) ?? 0)
    return places
  }

  function countedPlaces(pod: PodInfo, constraint: SpreadConstraint, all: readonly SpreadConstraint[]): Map<string, number> {
    const { perNode } = countsOf(pod, constraint)
    const places = new Map<string, number>()
    for (const node of cache.nodes) {
      const value = node.labels[constraint.key]
      if (value === undefined || !hasAllKeys(node, all) || !isCounted(constraint, pod, node)) continue
      places.set(value, (places.get(value) ?? 0) + (perNode.get(node.name) ?? 0))
    }
    return places
  }

  function recount(state: readonly Domains[], pod: PodInfo, other: PodInfo, node: NodeInfo, by: number): void {
    if (
      other.namespace !== pod.namespace ||
      !hasAllKeys(
        node,
        state.map(({ constraint }) => constraint),
      )
    )
      return
    for (const { constraint, tally, emptiest } of state) {
      if (!constraint.selector.matches(other.pod.metadata.labels) || !isCounted(constraint, pod, node)) continue
      const value = node.labels[constraint.key] as string
      tally.add(value, by)
      rank(emptiest, value, tally.at(value))
    }
  }
}

const noPlace = (): Place => ({ value: undefined, pods: Number.MAX_SAFE_INTEGER })

function rank(emptiest: [Place, Place], value: string, pods: number): void {
  const [first, second] = emptiest
  const known = first.value === value ? first : second.value === value ? second : undefined
  if (known !== undefined) {
    known.pods = pods
    if (first.pods > second.pods) emptiest.reverse()
  } else if (pods < first.pods) {
    emptiest[1] = first
    emptiest[0] = { value, pods }
  } else if (pods < second.pods) emptiest[1] = { value, pods }
}

function isInvolved(other: V1Pod, pod: V1Pod): boolean {
  if (other.metadata.uid === pod.metadata.uid) return true
  return Boolean(other.spec.nodeName || other.status?.nominatedNodeName) && other.metadata.namespace === pod.metadata.namespace
}
