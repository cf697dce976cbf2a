import {
  type NodeMatcher,
  nodeSelectorMatcher,
  type PreferredNodeTerms,
  preferredNodeTerms,
  requiredNodeMatcher,
  sumOfMatchingWeights,
} from '#api/core/v1/node/node-selector.ts'
import type { V1Node, V1NodeAffinity, V1NodeSelectorTerm, V1Pod } from '#api/core/v1/types.gen.ts'
import { on, when } from '#scheduler/framework/cluster-event.ts'
import { scoreHighestBest } from '#scheduler/framework/normalize.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, unresolvable } from '#scheduler/framework/status.ts'

const noMatch = unresolvable("node(s) didn't match Pod's node affinity/selector")
const notEnforced = unresolvable("node(s) didn't match scheduler-enforced node affinity")

export type NodeAffinityArgs = { addedAffinity?: V1NodeAffinity }

/** Pods choose nodes by label; the scheduler's own configuration may add to what each of them demands. */
export function nodeAffinity({ addedAffinity }: NodeAffinityArgs) {
  const added = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const addedMatches: NodeMatcher | undefined = added && nodeSelectorMatcher(added)
  const addedTerms = preferredNodeTerms(addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution)

  const helps = (pod: V1Pod, before: V1Node | undefined, after: V1Node): boolean => {
    if (addedMatches?.(after) === false) return false
    const matches = requiredNodeMatcher(pod) ?? (() => true)
    return matches(after) && (before === undefined || !matches(before))
  }

  return defineSchedulerPlugin<NodeMatcher | undefined, PreferredNodeTerms>({
    name: 'NodeAffinity',
    retryOn: [when(on.node.added, helps), when(on.node.labelsChanged, helps)],

    preFilter({ pod, requiredNode }) {
      if (requiredNode === undefined && addedMatches === undefined) return 'skip'
      const named = namedNodes(pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [])
      if (named === undefined) return { state: requiredNode }
      if (named.size === 0) return { refused: unresolvable('pod affinity terms conflict') }
      return { state: requiredNode, nodeNames: named }
    },
    filter(_, { node }, matches) {
      if (addedMatches !== undefined && !addedMatches(node)) return notEnforced
      return matches === undefined || matches(node) ? fits : noMatch
    },

    preScore({ pod }) {
      const terms = preferredNodeTerms(pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution)
      return terms.length === 0 && addedTerms.length === 0 ? 'skip' : terms
    },
    score: (_, { node }, terms) => sumOfMatchingWeights(addedTerms, node) + sumOfMatchingWeights(terms, node),
    normalize: scoreHighestBest,
  })
}

/** The nodes the terms name, when every term names its nodes: the others need no look. */
function namedNodes(terms: readonly V1NodeSelectorTerm[]): Set<string> | undefined {
  if (terms.length === 0) return undefined
  const all = new Set<string>()
  for (const { matchFields } of terms) {
    let names: Set<string> | undefined
    for (const { key, operator, values } of matchFields ?? []) {
      if (key !== 'metadata.name' || operator !== 'In') continue
      names = names === undefined ? new Set(values) : names.intersection(new Set(values))
    }
    if (names === undefined) return undefined
    for (const name of names) all.add(name)
  }
  return all
}
