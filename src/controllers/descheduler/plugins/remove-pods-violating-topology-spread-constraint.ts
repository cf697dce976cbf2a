import { fitsNodeLabels, untoleratedTaint } from '#api/core/v1/node/node-fit.ts'
import type { V1Node, V1Pod, V1TopologySpreadConstraint } from '#api/core/v1/types.gen.ts'
import { type LabelSelector, labelSelectorFrom } from '#api/meta/selector.ts'
import { fitsAnyOtherNode, hardEffects, livePodsOn } from '#controllers/descheduler/node-fit.ts'
import {
  definePlugin,
  evictAll,
  type PluginHandle,
  type PodFilter,
  type SelectingArgs,
  selectionProblems,
  selects,
} from '#controllers/descheduler/plugin.ts'
import { type Domain, isBalanced, podsToMove } from '#controllers/descheduler/plugins/balance-domains.ts'
import { sortedJson } from '#controllers/workload/sorted-json.ts'

type Args = SelectingArgs & { constraints?: readonly string[]; topologyBalanceNodeFit?: boolean }

const actions = ['DoNotSchedule', 'ScheduleAnyway']

export const removePodsViolatingTopologySpreadConstraint = definePlugin<Args>({
  name: 'RemovePodsViolatingTopologySpreadConstraint',
  point: 'balance',
  validate: (args) => [
    ...selectionProblems(args),
    ...(args.constraints ?? [])
      .filter((constraint) => !actions.includes(constraint))
      .map((constraint) => `constraint ${constraint} is not one of [${actions.join(' ')}]`),
  ],
  async run(args, handle) {
    const { view } = handle
    const allowed = args.constraints?.length ? args.constraints : ['DoNotSchedule']
    const isSelected = selects(args)
    const mayGo: PodFilter = (pod) => isSelected(pod) && handle.filter(pod)
    const pods = view.nodes.flatMap(({ metadata }) => livePodsOn(view, metadata.name ?? '')).filter(mayGo)
    const leaving = new Set<V1Pod>()
    for (const ofNamespace of Map.groupBy(pods, ({ metadata }) => metadata.namespace ?? '').values()) {
      const constraints = new Map<string, Constraint>()
      for (const pod of ofNamespace) {
        for (const given of pod.spec.topologySpreadConstraints ?? []) {
          if (!allowed.includes(given.whenUnsatisfiable)) continue
          const constraint = constraintOf(given, pod)
          constraints.set(constraint.id, constraint)
        }
      }
      for (const constraint of constraints.values()) for (const pod of unbalanced(constraint, ofNamespace, args, handle)) leaving.add(pod)
    }
    await evictAll([...leaving].filter(handle.preEvictionFilter), handle)
  },
})

type Constraint = {
  /** Equal for those that ask for the same. */
  id: string
  maxSkew: number
  topologyKey: string
  selector: LabelSelector
  includesNode(node: V1Node): boolean
}

function constraintOf(given: V1TopologySpreadConstraint, { metadata, spec }: V1Pod): Constraint {
  const { labelSelector, matchLabelKeys = [], maxSkew, topologyKey, nodeAffinityPolicy = 'Honor', nodeTaintsPolicy = 'Ignore' } = given
  const known = Object.fromEntries(
    matchLabelKeys.flatMap((key) => (metadata.labels?.[key] === undefined ? [] : [[key, metadata.labels[key]]])),
  )
  const merged = labelSelector && { ...labelSelector, matchLabels: { ...labelSelector.matchLabels, ...known } }
  const honoursAffinity = nodeAffinityPolicy === 'Honor'
  const honoursTaints = nodeTaintsPolicy === 'Honor'
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return {
    id: sortedJson([
      ...[maxSkew, topologyKey, merged ?? {}, nodeAffinityPolicy, nodeTaintsPolicy],
      honoursAffinity ? [spec.nodeSelector ?? {}, required ?? {}] : [],
      honoursTaints ? (spec.tolerations ?? []) : [],
    ]),
    ...{ maxSkew, topologyKey, selector: labelSelectorFrom(merged) },
    includesNode: (node) =>
      (!honoursAffinity || fitsNodeLabels(spec, node)) &&
      (!honoursTaints || untoleratedTaint(node.spec?.taints, spec.tolerations, hardEffects) === undefined),
  }
}

function unbalanced(constraint: Constraint, pods: readonly V1Pod[], args: Args, { view, filter }: PluginHandle): V1Pod[] {
  const { topologyKey, selector, maxSkew } = constraint
  const domainValue = ({ metadata }: V1Node) => metadata.labels?.[topologyKey]
  const eligible = view.nodes.filter((node) => constraint.includesNode(node))
  const domains = new Map<string, Domain>()
  const domainOf = (value: string): Domain => {
    const domain = domains.get(value) ?? { value, pods: [] }
    domains.set(value, domain)
    return domain
  }
  // A domain without any pod counts as well.
  for (const node of eligible) if (domainValue(node) !== undefined) domainOf(domainValue(node) ?? '')
  const nodes = new Map(view.nodes.map((node) => [node.metadata.name ?? '', node]))
  for (const pod of pods) {
    const node = nodes.get(pod.spec.nodeName ?? '')
    const value = node && domainValue(node)
    if (value !== undefined && selector.matches(pod.metadata.labels)) domainOf(value).pods.push(pod)
  }
  const all = [...domains.values()]
  if (isBalanced(all, maxSkew)) return []
  const average = all.reduce((sum, domain) => sum + domain.pods.length, 0) / all.length
  const small = new Set(all.filter((domain) => domain.pods.length < average).map(({ value }) => value))
  const receiving = eligible.filter((node) => small.has(domainValue(node) ?? ''))
  const mayMove = (pod: V1Pod) => fitsAnyOtherNode(pod, receiving, view)
  for (const domain of all) domain.pods = lastToStay(domain.pods, filter)
  const moved = podsToMove(all, maxSkew, (list) => {
    const fits = new Map(list.map((pod) => [pod, mayMove(pod)]))
    return list.toSorted((one, other) => Number(fits.get(one)) - Number(fits.get(other)))
  })
  // Those that would come back to where they are stay, though they count as moved.
  return args.topologyBalanceNodeFit === false ? moved : moved.filter(mayMove)
}

/** Those that must stay first, then those that are bound to some nodes, then the important ones. */
function lastToStay(pods: readonly V1Pod[], mayGo: PodFilter): V1Pod[] {
  const rank = (pod: V1Pod): readonly [number, number, number] => [
    mayGo(pod) ? 1 : 0,
    pod.spec.nodeSelector !== undefined || pod.spec.affinity?.nodeAffinity !== undefined ? 0 : 1,
    -(pod.spec.priority ?? Number.MIN_SAFE_INTEGER),
  ]
  return pods
    .map((pod) => ({ pod, rank: rank(pod) }))
    .sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1] || a.rank[2] - b.rank[2])
    .map(({ pod }) => pod)
}
