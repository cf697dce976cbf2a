import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { nothing } from '#api/meta/selector.ts'
import { type AffinityTerm, namespacesOfTerm, type PodAffinityTerms, termMatches } from '#scheduler/cache/affinity-terms.ts'
import type { ClusterCache } from '#scheduler/cache/cluster-cache.ts'
import { TopologyTally } from '#scheduler/cache/node-counts.ts'
import type { NodeInfo } from '#scheduler/cache/node-info.ts'
import { knownPodInfo, type PodInfo } from '#scheduler/cache/pod-info.ts'
import type { ClusterObjects } from '#scheduler/cluster-objects.ts'
import { on, when } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin, maxNodeScore } from '#scheduler/framework/plugin.ts'
import { fits, unresolvable, unschedulable } from '#scheduler/framework/status.ts'

// Nobody can be preempted into being there, hence unresolvable.
const farFromFriends = unresolvable("node(s) didn't match pod affinity rules")
const nearFoes = unschedulable("node(s) didn't match pod anti-affinity rules")
const unwelcome = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")

export type InterPodAffinityArgs = { hardPodAffinityWeight?: number; ignorePreferredTermsOfExistingPods?: boolean }

type FilterState = {
  /** Terms with the namespaces their selectors mean. */
  readonly required: readonly AffinityTerm[]
  readonly requiredAnti: readonly AffinityTerm[]
  /** How many pods that match all our affinity terms are in each place, a tally for each term. */
  readonly friends: readonly TopologyTally[]
  /** How many pods that match an anti-affinity term of ours, a tally for each term. */
  readonly foes: readonly TopologyTally[]
  /** How many pods there are whose anti-affinity we match, a tally for each topology key. */
  readonly rejectors: TopologyTally[]
  readonly namespaceLabels: Record<string, string> | undefined
}

type Pull = { readonly key: string; readonly counts: ReadonlyMap<string, number>; readonly weight: number }

/** Pods near pods they want to be near, and away from pods they, or those, do not want around. */
export function interPodAffinity(args: InterPodAffinityArgs, { cache, objects }: { cache: ClusterCache; objects: ClusterObjects }) {
  const hardWeight = args.hardPodAffinityWeight ?? 1
  const labelsOf = (namespace: string) => objects.of('Namespace').get('', namespace)?.metadata.labels
  const resolved = (term: AffinityTerm) => namespacesOfTerm(term, objects.of('Namespace').values())
  const countsOf = (terms: readonly AffinityTerm[], namespaces: ReadonlySet<string> | 'all') =>
    cache.pods.counts({ namespaces, selectors: terms.map(({ selector }) => selector), countsTerminating: true })

  return defineSchedulerPlugin<FilterState, readonly Pull[]>({
    name: 'InterPodAffinity',
    retryOn: [
      when(on.pod.added, helpsAfterPodChange),
      when(on.pod.labelsChanged, helpsAfterPodChange),
      when(on.pod.deleted, helpsAfterPodChange),
      when(on.node.added, helpsAfterNodeChange),
      when(on.node.labelsChanged, helpsAfterNodeChange),
    ],

    preFilter(pod) {
      if (pod.termsError !== undefined) return { refused: unresolvable(`parsing pod: ${pod.termsError}`) }
      const { required, requiredAnti } = pod.terms
      const namespaceLabels = labelsOf(pod.namespace)
      const rejecting = cache.requiredAntiTerms.matching(pod.pod, namespaceLabels)
      if (rejecting.length === 0 && required.length === 0 && requiredAnti.length === 0) return 'skip'
      const keys = new Set(rejecting.map(({ term }) => term.topologyKey))
      return {
        state: {
          required: required.map((term) => withNamespaces(term, resolved(term))),
          requiredAnti: requiredAnti.map((term) => withNamespaces(term, resolved(term))),
          friends: friendTallies(required),
          foes: requiredAnti.map(
            (term) => new TopologyTally(term.topologyKey, [countsOf([term], resolved(term)).byTopology(term.topologyKey)]),
          ),
          rejectors: [...keys].map(
            (key) =>
              new TopologyTally(
                key,
                rejecting.filter(({ term }) => term.topologyKey === key).map(({ counts }) => counts.byTopology(key)),
              ),
          ),
          namespaceLabels,
        },
      }
    },
    cloneState: (state) => ({
      ...state,
      friends: state.friends.map((tally) => tally.clone()),
      foes: state.foes.map((tally) => tally.clone()),
      rejectors: state.rejectors.map((tally) => tally.clone()),
    }),
    addPod: (state, pod, added, node) => recount(state, pod, added, node, 1),
    removePod: (state, pod, removed, node) => recount(state, pod, removed, node, -1),

    filter(pod, { labels }, { friends, foes, rejectors, required }) {
      let isNearFriends = true
      for (const tally of friends) {
        const value = labels[tally.key]
        if (value === undefined) return farFromFriends
        if (tally.at(value) <= 0) isNearFriends = false
      }
      // The first of a series that wants to be with its own kind may go anywhere.
      if (!isNearFriends && !(friends.every((tally) => tally.isEmpty) && matchesAll(required, pod.pod))) return farFromFriends
      for (const tally of foes) {
        const value = labels[tally.key]
        if (value !== undefined && tally.at(value) > 0) return nearFoes
      }
      for (const tally of rejectors) {
        const value = labels[tally.key]
        if (value !== undefined && tally.at(value) > 0) return unwelcome
      }
      return fits
    },

    preScore(pod) {
      const { preferred, preferredAnti } = pod.terms
      const hasPreferredTerms = preferred.length > 0 || preferredAnti.length > 0
      if (args.ignorePreferredTermsOfExistingPods && !hasPreferredTerms) return 'skip'
      const pulls: Pull[] = []
      const pull = (key: string, counts: ReadonlyMap<string, number>, weight: number) => {
        if (counts.size > 0 && weight !== 0) pulls.push({ key, counts, weight })
      }
      for (const term of preferred) pull(term.topologyKey, countsOf([term], resolved(term)).byTopology(term.topologyKey), term.weight)
      for (const term of preferredAnti) pull(term.topologyKey, countsOf([term], resolved(term)).byTopology(term.topologyKey), -term.weight)
      const labels = labelsOf(pod.namespace)
      const existing = [
        [cache.requiredTerms, () => hardWeight],
        [cache.preferredTerms, (weight: number) => weight],
        [cache.preferredAntiTerms, (weight: number) => -weight],
      ] as const
      for (const [terms, weigh] of existing) {
        for (const { term, counts, weight } of terms.matching(pod.pod, labels))
          pull(term.topologyKey, counts.byTopology(term.topologyKey), weigh(weight))
      }
      return pulls.length === 0 ? 'skip' : pulls
    },
    score(_, { labels }, pulls) {
      let score = 0
      for (const { key, counts, weight } of pulls) {
        const value = labels[key]
        if (value !== undefined) score += weight * (counts.get(value) ?? 0)
      }
      return score
    },
    normalize: scoreWithinRange,
  })

  function friendTallies(terms: readonly AffinityTerm[]): TopologyTally[] {
    if (terms.length === 0) return []
    // One pod must match all terms, so the namespaces of all of them.
    const namespaces = terms.map(resolved).reduce((one, other) => (one === 'all' ? other : other === 'all' ? one : one.intersection(other)))
    const counts = countsOf(terms, namespaces)
    return terms.map(({ topologyKey }) => new TopologyTally(topologyKey, [counts.byTopology(topologyKey)]))
  }
}

function withNamespaces(term: AffinityTerm, namespaces: ReadonlySet<string> | 'all'): AffinityTerm {
  return namespaces === 'all' ? term : { ...term, namespaces, namespaceSelector: nothing }
}

const matchesAll = (terms: readonly AffinityTerm[], pod: V1Pod): boolean =>
  terms.length > 0 && terms.every((term) => termMatches(term, pod, undefined))

function recount(state: FilterState, pod: PodInfo, other: PodInfo, { labels }: NodeInfo, by: number): void {
  const count = (tally: TopologyTally | undefined) => {
    const value = tally === undefined ? undefined : labels[tally.key]
    if (value !== undefined) tally?.add(value, by)
  }
  for (const term of other.terms.requiredAnti) {
    if (!termMatches(term, pod.pod, state.namespaceLabels)) continue
    let tally = state.rejectors.find(({ key }) => key === term.topologyKey)
    if (tally === undefined) {
      tally = new TopologyTally(term.topologyKey, [])
      state.rejectors.push(tally)
    }
    count(tally)
  }
  if (matchesAll(state.required, other.pod)) state.friends.forEach(count)
  state.requiredAnti.forEach((term, index) => {
    if (termMatches(term, other.pod, undefined)) count(state.foes[index])
  })
}

/** The best becomes 100 and the worst 0: both signs occur. */
function scoreWithinRange(scores: Float64Array): void {
  let lowest = Number.POSITIVE_INFINITY
  let highest = Number.NEGATIVE_INFINITY
  for (const score of scores) {
    if (score < lowest) lowest = score
    if (score > highest) highest = score
  }
  const range = highest - lowest
  for (let index = 0; index < scores.length; index++) {
    scores[index] = range > 0 ? Math.trunc(maxNodeScore * (((scores[index] as number) - lowest) / range)) : 0
  }
}

const isPlaced = ({ spec, status }: V1Pod): boolean => Boolean(spec.nodeName || status?.nominatedNodeName)

/** Throws where they cannot be understood. */
function termsOf(pod: V1Pod): PodAffinityTerms {
  const { terms, termsError } = knownPodInfo(pod)
  if (termsError !== undefined) throw new Error(termsError)
  return terms
}

function helpsAfterPodChange(pod: V1Pod, before: V1Pod | undefined, after: V1Pod | undefined): boolean {
  if (before && after && after.metadata.uid === pod.metadata.uid) return true
  if ((after && !isPlaced(after)) || (before && !isPlaced(before))) return false
  const { required, requiredAnti } = termsOf(pod)
  if (before && after) {
    return (
      (!matchesAll(required, before) && matchesAll(required, after)) ||
      (matchesAll(requiredAnti, before) && !matchesAll(requiredAnti, after))
    )
  }
  if (after) return matchesAll(required, after)
  return before !== undefined && (matchesAll(requiredAnti, before) || matchesAll(termsOf(before).requiredAnti, pod))
}

function helpsAfterNodeChange(pod: V1Pod, earlier: V1Node | undefined, later: V1Node): boolean {
  const before = earlier?.metadata.labels ?? {}
  const after = later.metadata.labels ?? {}
  const { required, requiredAnti } = termsOf(pod)
  const isNew = earlier === undefined
  const movesCloser = ({ topologyKey: key }: AffinityTerm) => after[key] !== undefined && (isNew || before[key] !== after[key])
  const movesAway = ({ topologyKey: key }: AffinityTerm) => isNew || (before[key] !== undefined && before[key] !== after[key])
  return required.some(movesCloser) || requiredAnti.some(movesAway)
}
