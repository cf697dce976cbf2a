/** Which pods would have to leave a node, and which node that hurts least. */

import { cachedSelector } from '#api/meta/selector.ts'
import type { V1PodDisruptionBudget } from '#api/policy/v1/types.gen.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { PodInfo } from '#scheduler/cache/pod-info.ts'
import type { Victims } from '#scheduler/extender/extender.ts'
import type { Cycle } from '#scheduler/framework/cycle.ts'
import type { Profile } from '#scheduler/framework/profile.ts'
import { type Status, unresolvable } from '#scheduler/framework/status.ts'

const noVictims = unresolvable('No preemption victims found for incoming pod')

/** A pod that has not started counts as one that starts now: the last to be kept. */
const startMs = ({ pod }: PodInfo): number => (pod.status?.startTime ? Date.parse(pod.status.startTime) : Number.MAX_SAFE_INTEGER)

/** The more important first: higher priority, then longer running. */
const byImportance = (one: PodInfo, other: PodInfo): number => other.priority - one.priority || startMs(one) - startMs(other)

/**
 * All less important pods leave the copy of the node; if the pod fits then, they come back one by one, the important ones
 * and those whose disruption budget is used up first, as long as it still fits.
 */
export function pickVictims(
  profile: Profile,
  original: Cycle,
  nodeAsIs: NodeInfo,
  budgets: readonly V1PodDisruptionBudget[],
): Victims | { refused: Status } {
  const lessImportant = nodeAsIs.pods.filter(({ priority }) => priority < original.pod.priority)
  if (lessImportant.length === 0) return { refused: noVictims }
  const node = nodeAsIs.clone()
  const cycle = original.clone()
  for (const pod of lessImportant) profile.tryOff(cycle, pod, node)
  const refused = profile.filterWithNominated(cycle, node)
  if (refused !== undefined) return { refused }

  const { violating, others } = splitByBudget(lessImportant.toSorted(byImportance), budgets)
  const victims: PodInfo[] = []
  const staysAway = (pod: PodInfo): boolean => {
    profile.tryOn(cycle, pod, node)
    if (profile.filterWithNominated(cycle, node) === undefined) return false
    profile.tryOff(cycle, pod, node)
    victims.push(pod)
    return true
  }
  const budgetViolations = violating.filter(staysAway).length
  others.forEach(staysAway)
  return { pods: victims.toSorted(byImportance), budgetViolations }
}

function splitByBudget(pods: readonly PodInfo[], budgets: readonly V1PodDisruptionBudget[]): { violating: PodInfo[]; others: PodInfo[] } {
  if (budgets.length === 0) return { violating: [], others: [...pods] }
  const left = budgets.map(({ status, spec, metadata }) => ({
    allowed: status?.disruptionsAllowed ?? 0,
    selector: cachedSelector(spec?.selector),
    namespace: metadata?.namespace,
    disrupted: status?.disruptedPods ?? {},
  }))
  const violating: PodInfo[] = []
  const others: PodInfo[] = []
  for (const info of pods) {
    const { labels } = info.pod.metadata
    let isViolating = false
    for (const budget of left) {
      if (budget.namespace !== info.namespace || !labels || budget.selector.isEmpty || !budget.selector.matches(labels)) continue
      // It is on its way out already, and counted.
      if (info.name in budget.disrupted) continue
      if (--budget.allowed < 0) isViolating = true
    }
    if (isViolating) violating.push(info)
    else others.push(info)
  }
  return { violating, others }
}

/** Fewest violated budgets, then the least important victims, then few of them, then the youngest. */
export function cheapestNode(candidates: ReadonlyMap<string, Victims>): string | undefined {
  const costs: ((victims: Victims) => number)[] = [
    ({ budgetViolations }) => budgetViolations,
    ({ pods }) => pods[0]?.priority ?? Number.NEGATIVE_INFINITY,
    // Shifted, so that one more victim always costs more, whatever the sign of its priority.
    ({ pods }) => pods.reduce((sum, { priority }) => sum + priority + 2 ** 31, 0),
    ({ pods }) => pods.length,
    ({ pods }) => -earliestStartOfMostImportant(pods),
  ]
  let left = [...candidates]
  for (const cost of costs) {
    let lowest = Number.POSITIVE_INFINITY
    for (const [, victims] of left) lowest = Math.min(lowest, cost(victims))
    left = left.filter(([, victims]) => cost(victims) === lowest)
    if (left.length === 1) break
  }
  return left[0]?.[0]
}

function earliestStartOfMostImportant(pods: readonly PodInfo[]): number {
  const highest = pods.reduce((priority, pod) => Math.max(priority, pod.priority), Number.NEGATIVE_INFINITY)
  return pods.reduce((earliest, pod) => (pod.priority === highest ? Math.min(earliest, startMs(pod)) : earliest), Number.MAX_SAFE_INTEGER)
}
