/** Why a pod goes where it goes, or nowhere: every node, every plugin that turned it down, and every score. */
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import { Cycle } from '#scheduler/framework/cycle.ts'
import { Diagnosis, fitMessage, noNodesMessage } from '#scheduler/framework/fit-error.ts'
import type { AnyPlugin } from '#scheduler/framework/plugin.ts'
import type { Profile } from '#scheduler/framework/profile.ts'
import { messageOf, type Status } from '#scheduler/framework/status.ts'
import type { Scheduler } from '#scheduler/scheduler.ts'

export type Objection = {
  readonly plugin: string
  readonly reason: string /** Whether less important pods are all that is in the way. */
  readonly isResolvable: boolean
}
export type NodeResult = {
  readonly node: string
  readonly objections: readonly Objection[]
  readonly scores: Readonly<Record<string, number>>
  readonly total: number
}
export type Explanation = {
  readonly pod: string
  readonly scheduler: string
  /** What holds for the pod whatever the node. */
  readonly objections: readonly Objection[]
  /** Best first, then those that do not fit. */
  readonly nodes: readonly NodeResult[]
  /** Weights of the plugins that scored. */
  readonly weights: Readonly<Record<string, number>>
  readonly summary: string
}

const objectionOf = (status: Status, plugin = status.plugin): Objection => ({
  plugin,
  reason: messageOf(status),
  isResolvable: status.code === 'Unschedulable',
})

/** Looks at all nodes and asks all plugins, where scheduling itself stops at the first no. */
export function explain(scheduler: Pick<Scheduler, 'cache' | 'profiles'>, info: PodInfo): Explanation {
  const schedulerName = info.pod.spec.schedulerName ?? ''
  const profile = scheduler.profiles.get(schedulerName)
  const pod = `${info.namespace}/${info.name}`
  const empty = { pod, scheduler: schedulerName, nodes: [], weights: {} }
  if (profile === undefined)
    return { ...empty, objections: [], summary: `no profile is called "${schedulerName}": another scheduler is asked for` }
  const gate = profile.preEnqueue(info)
  if (gate !== undefined) return { ...empty, objections: [objectionOf(gate)], summary: messageOf(gate) }
  const { nodes } = scheduler.cache
  if (nodes.length === 0) return { ...empty, objections: [], summary: noNodesMessage }
  const cycle = new Cycle(info)
  const { refused, nodeNames, narrowedBy } = profile.preFilter(cycle)
  if (refused !== undefined) {
    const diagnosis = new Diagnosis()
    diagnosis.preFilterMessage = messageOf(refused)
    return { ...empty, objections: [objectionOf(refused)], summary: fitMessage(nodes.length, diagnosis) }
  }
  const diagnosis = new Diagnosis()
  const results = new Map<string, NodeResult>()
  for (const node of nodes) {
    const objections: Objection[] = []
    if (nodeNames !== undefined && !nodeNames.has(node.name)) {
      for (const plugin of narrowedBy)
        objections.push({ plugin, reason: `node(s) didn't satisfy plugin(s) [${narrowedBy.join(' ')}]`, isResolvable: false })
    }
    for (const [index, plugin] of cycle.filters.entries()) {
      const status = plugin.filter?.(info, node, cycle.filterStates[index])
      if (status === undefined) continue
      if (objections.length === 0) diagnosis.nodeStatuses.set(node.name, status)
      objections.push(objectionOf(status, plugin.name))
    }
    results.set(node.name, { node: node.name, objections, scores: {}, total: 0 })
  }
  const weights = addScores(profile, cycle, scheduler, results)
  const sorted = [...results.values()].toSorted(
    (one, other) => Number(one.objections.length > 0) - Number(other.objections.length > 0) || other.total - one.total,
  )
  const fitting = sorted.filter(({ objections }) => objections.length === 0)
  const summary =
    fitting.length === 0
      ? fitMessage(nodes.length, diagnosis)
      : `${fitting.length} of ${nodes.length} nodes fit; the best is ${fitting[0]?.node} with ${fitting[0]?.total} points`
  return { pod, scheduler: schedulerName, objections: [], nodes: sorted, weights, summary }
}

function addScores(
  profile: Profile,
  cycle: Cycle,
  { cache }: Pick<Scheduler, 'cache'>,
  results: Map<string, NodeResult>,
): Record<string, number> {
  const feasible = cache.nodes.filter(({ name }) => results.get(name)?.objections.length === 0)
  if (feasible.length === 0) return {}
  const weights: Record<string, number> = {}
  const scores = new Map<string, Record<string, number>>()
  const listener = ({ name }: AnyPlugin, weight: number, given: Float64Array) => {
    weights[name] = weight
    for (const [index, node] of feasible.entries()) scores.set(node.name, { ...scores.get(node.name), [name]: given[index] ?? 0 })
  }
  const totals = profile.score(cycle, feasible, listener)
  for (const [index, { name }] of feasible.entries()) {
    results.set(name, { node: name, objections: [], scores: scores.get(name) ?? {}, total: totals[index] ?? 0 })
  }
  return weights
}

/** As text for people. */
export function explanationText({ pod, scheduler, objections, nodes, weights, summary }: Explanation): string {
  const lines = [`Pod ${pod}, scheduler ${scheduler}`, summary]
  for (const { plugin, reason } of objections) lines.push(`  ${plugin}: ${reason}`)
  const fitting = nodes.filter((result) => result.objections.length === 0)
  if (fitting.length > 0) {
    const names = Object.keys(weights)
    lines.push('', 'Nodes that fit, best first (score x weight):')
    for (const { node, scores, total } of fitting) {
      lines.push(`  ${node}  ${total}  = ${names.map((name) => `${name} ${scores[name] ?? 0}x${weights[name]}`).join(' + ')}`)
    }
  }
  const others = nodes.filter((result) => result.objections.length > 0)
  if (others.length > 0) lines.push('', 'Nodes that do not fit:')
  for (const result of others) {
    for (const { plugin, reason, isResolvable } of result.objections) {
      lines.push(`  ${result.node}  ${plugin}: ${reason}${isResolvable ? ' (preemption may help)' : ''}`)
    }
  }
  return `${lines.join('\n')}\n`
}
