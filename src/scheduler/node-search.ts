import type { Random } from '#base/random.ts'
import type { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import type { Extender } from '#scheduler/extender/extender.ts'
import type { Cycle } from '#scheduler/framework/cycle.ts'
import { Diagnosis, FitError } from '#scheduler/framework/fit-error.ts'
import { maxNodeScore } from '#scheduler/framework/plugin.ts'
import type { Profile } from '#scheduler/framework/profile.ts'
import { messageOf, unresolvable, unschedulable } from '#scheduler/framework/status.ts'

export type Placement = { readonly nodeName: string; readonly evaluated: number; readonly feasible: number }

/** Below this many nodes all of them are looked at. */
const fewNodes = 100
const lowestPercentage = 5
/** Extenders score from 0 to 10. */
const extenderScoreMax = 10

export type NodeSearchOptions = {
  cache: ClusterCache
  random: Random
  extenders: readonly Extender[]
  percentageOfNodesToScore: number
}

/**
 * Finds the node for a pod: filters until enough nodes fit, scores these, and takes one of the best. The next search
 * starts where this one stopped, so that all nodes get their turn.
 */
export class NodeSearch {
  readonly #options: NodeSearchOptions
  #nextIndex = 0

  constructor(options: NodeSearchOptions) {
    this.#options = options
  }

  /** Throws a FitError when no node fits. A promise only when extenders have a say. */
  place(profile: Profile, cycle: Cycle): Placement | Promise<Placement> {
    const diagnosis = new Diagnosis()
    const feasible = this.#feasibleNodes(profile, cycle, diagnosis)
    const interested = this.#options.extenders.filter((each) => (each.filters || each.prioritizes) && each.isInterested(cycle.pod))
    if (interested.length > 0 && feasible.length > 0) return this.#placeWithExtenders(profile, cycle, diagnosis, feasible, interested)
    return this.#best(feasible, diagnosis, () => profile.metrics.point('Score', () => profile.score(cycle, feasible)))
  }

  #best(feasible: readonly NodeInfo[], diagnosis: Diagnosis, score: () => Float64Array): Placement {
    const [only] = feasible
    if (only === undefined) throw new FitError(this.#options.cache.nodes.length, diagnosis)
    const evaluated = feasible.length + diagnosis.nodeStatuses.size
    const nodeName = feasible.length === 1 ? only.name : this.#pick(feasible, score()).name
    return { nodeName, evaluated, feasible: feasible.length }
  }

  /** One of those with the highest score, each with the same chance. */
  #pick(nodes: readonly NodeInfo[], scores: Float64Array): NodeInfo {
    let best = nodes[0] as NodeInfo
    let highest = scores[0] as number
    let ties = 1
    for (let index = 1; index < nodes.length; index++) {
      const score = scores[index] as number
      if (score > highest) {
        best = nodes[index] as NodeInfo
        highest = score
        ties = 1
      } else if (score === highest && this.#options.random.int(++ties) === 0) best = nodes[index] as NodeInfo
    }
    return best
  }

  #feasibleNodes(profile: Profile, cycle: Cycle, diagnosis: Diagnosis): readonly NodeInfo[] {
    const all = this.#options.cache.nodes
    const { refused, nodeNames, narrowedBy } = profile.metrics.point('PreFilter', () => profile.preFilter(cycle))
    for (const name of narrowedBy) diagnosis.plugins.add(name)
    if (refused !== undefined) {
      if (refused.code === 'Error') throw refused.error ?? new Error(messageOf(refused))
      diagnosis.absentStatus = refused
      diagnosis.preFilterMessage = messageOf(refused)
      diagnosis.note(refused)
      return []
    }
    const nominated = this.#options.cache.node(cycle.pod.pod.status?.nominatedNodeName ?? '')
    if (nominated !== undefined && profile.filterWithNominated(cycle, nominated) === undefined) return [nominated]
    if (nodeNames === undefined) return profile.metrics.point('Filter', () => this.#passing(profile, cycle, all, diagnosis))
    diagnosis.absentStatus = unresolvable(`node(s) didn't satisfy plugin(s) [${narrowedBy.toSorted().join(' ')}]`)
    const named = [...nodeNames].flatMap((name) => this.#options.cache.node(name) ?? [])
    return profile.metrics.point('Filter', () => this.#passing(profile, cycle, named, diagnosis))
  }

  #passing(profile: Profile, cycle: Cycle, nodes: readonly NodeInfo[], diagnosis: Diagnosis): readonly NodeInfo[] {
    const wanted = nodesToFind(nodes.length, profile.percentageOfNodesToScore ?? this.#options.percentageOfNodesToScore)
    const feasible: NodeInfo[] = []
    let looked = 0
    for (; looked < nodes.length && feasible.length < wanted; looked++) {
      const node = nodes[(this.#nextIndex + looked) % nodes.length] as NodeInfo
      const status = profile.filterWithNominated(cycle, node)
      if (status === undefined) feasible.push(node)
      else {
        if (status.code === 'Error') throw status.error ?? new Error(messageOf(status))
        diagnosis.nodeStatuses.set(node.name, status)
        diagnosis.note(status)
      }
    }
    const count = this.#options.cache.nodes.length
    this.#nextIndex = count === 0 ? 0 : (this.#nextIndex + looked) % count
    return feasible
  }

  async #placeWithExtenders(
    profile: Profile,
    cycle: Cycle,
    diagnosis: Diagnosis,
    fitting: readonly NodeInfo[],
    extenders: readonly Extender[],
  ): Promise<Placement> {
    let feasible = fitting
    for (const extender of extenders) {
      if (!extender.filters || feasible.length === 0) continue
      try {
        const answer = await extender.filter(cycle.pod, feasible)
        for (const [name, reason] of answer.failed) diagnosis.nodeStatuses.set(name, unschedulable(reason))
        for (const [name, reason] of answer.failedForGood) diagnosis.nodeStatuses.set(name, unresolvable(reason))
        feasible = answer.feasible
      } catch (error) {
        if (!extender.isIgnorable) throw error
      }
    }
    // Nobody tells us what an extender waits for, so anything may help.
    if (feasible.length < fitting.length) diagnosis.plugins.add('Extender')
    const scores = feasible.length > 1 ? profile.score(cycle, feasible) : new Float64Array(feasible.length)
    if (feasible.length > 1) await Promise.all(extenders.map((extender) => addScores(extender, cycle, feasible, scores)))
    return this.#best(feasible, diagnosis, () => scores)
  }
}

async function addScores(extender: Extender, cycle: Cycle, nodes: readonly NodeInfo[], totals: Float64Array): Promise<void> {
  if (!extender.prioritizes) return
  try {
    const scores = await extender.prioritize(cycle.pod, nodes)
    for (const [index, { name }] of nodes.entries()) {
      totals[index] = (totals[index] as number) + (scores.get(name) ?? 0) * extender.weight * (maxNodeScore / extenderScoreMax)
    }
  } catch {
    // Its wishes are lost, the pod need not be.
  }
}

/** How many fitting nodes are enough: all of a small cluster, 50 % of 100 nodes, 10 % of 5,000, never under 5 %. */
export function nodesToFind(nodeCount: number, configured: number): number {
  if (nodeCount < fewNodes) return nodeCount
  const percentage = configured === 0 ? Math.max(50 - Math.trunc(nodeCount / 125), lowestPercentage) : configured
  return Math.min(nodeCount, Math.max(Math.trunc((nodeCount * percentage) / 100), fewNodes))
}
