import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { NodeInfo } from '#scheduler/cache/node-info.ts'
import { knownPodInfo, type PodInfo } from '#scheduler/cache/pod-info.ts'
import type { Resources } from '#scheduler/cache/resources.ts'
import { on, when } from '#scheduler/framework/cluster-event.ts'
import { defineSchedulerPlugin } from '#scheduler/framework/plugin.ts'
import { fits, type Status } from '#scheduler/framework/status.ts'
import { fillScoreOf, type ScoringStrategy, scoredCapacity, scoredRequest, scoredUse } from '#scheduler/plugins/resource-scoring.ts'

export type NodeResourcesFitArgs = {
  scoringStrategy?: ScoringStrategy
  ignoredResources?: string[]
  /** Extended resources by the part before the slash. */
  ignoredResourceGroups?: string[]
}

/** A node must have room for what the pod asks for; how full it may be when there is a choice is a matter of strategy. */
export function nodeResourcesFit(args: NodeResourcesFitArgs) {
  const ignored = new Set(args.ignoredResources)
  const ignoredGroups = new Set(args.ignoredResourceGroups)
  const isIgnored = (name: string) => ignored.has(name) || ignoredGroups.has(name.slice(0, Math.max(0, name.indexOf('/'))))
  const strategy = args.scoringStrategy ?? {}
  const resources = (strategy.resources ?? [{ name: 'cpu' }, { name: 'memory' }]).map(({ name, weight }) => ({ name, weight: weight || 1 }))
  const fillScore = fillScoreOf(strategy)
  const isRatio = strategy.type === 'RequestedToCapacityRatio'

  return defineSchedulerPlugin<undefined, number[]>({
    name: 'NodeResourcesFit',
    retryOn: [
      when(on.pod.deleted, (_, gone) => Boolean(gone.spec.nodeName || gone.status?.nominatedNodeName)),
      when(on.pod.scaledDown, (pod, before, after) => freesWhatIsWanted(pod, before, after)),
      when(on.node.added, (pod, _, added) => fitsEmpty(pod, added)),
      when(on.node.allocatableChanged, (pod, before, after) => fitsEmpty(pod, after) && hasGrown(pod, before, after)),
    ],

    preFilter: () => ({ state: undefined }),
    filter(pod, node) {
      const { requests } = pod
      const { allocatable, requested } = node
      // The way of nearly every node: nothing to explain, nothing to allocate.
      if (
        node.pods.length < allocatable.pods &&
        (requests.cpuMillis === 0 || requests.cpuMillis <= allocatable.cpuMillis - requested.cpuMillis) &&
        (requests.memory === 0 || requests.memory <= allocatable.memory - requested.memory) &&
        (requests.ephemeralStorage === 0 || requests.ephemeralStorage <= allocatable.ephemeralStorage - requested.ephemeralStorage) &&
        requests.scalars === undefined
      ) {
        return fits
      }
      return lacking(pod, node, isIgnored)
    },

    preScore: (pod) => resources.map(({ name }) => scoredRequest(pod, name, true)),
    score(_, node, requests) {
      let sum = 0
      let weights = 0
      for (let index = 0; index < resources.length; index++) {
        const { name, weight } = resources[index] as { name: string; weight: number }
        const request = requests[index] as number
        const capacity = scoredCapacity(node, name, request)
        if (capacity === 0) continue
        const score = fillScore(scoredUse(node, name, true) + request, capacity)
        if (isRatio && score <= 0) continue
        sum += score * weight
        weights += weight
      }
      if (weights === 0) return 0
      return isRatio ? Math.round(sum / weights) : Math.trunc(sum / weights)
    },
  })
}

/** All that is missing; unresolvable when even the empty node has too little. */
function lacking(
  { requests }: PodInfo,
  { pods, allocatable, requested }: NodeInfo,
  isIgnored: (name: string) => boolean,
): Status | undefined {
  const reasons: string[] = []
  let isHopeless = false
  const need = (name: string, wanted: number, capacity: number, used: number) => {
    if (wanted <= 0 || wanted <= capacity - used) return
    reasons.push(`Insufficient ${name}`)
    if (wanted > capacity) isHopeless = true
  }
  if (pods.length + 1 > allocatable.pods) reasons.push('Too many pods')
  need('cpu', requests.cpuMillis, allocatable.cpuMillis, requested.cpuMillis)
  need('memory', requests.memory, allocatable.memory, requested.memory)
  need('ephemeral-storage', requests.ephemeralStorage, allocatable.ephemeralStorage, requested.ephemeralStorage)
  for (const [name, wanted] of requests.scalars ?? []) {
    if (!isIgnored(name)) need(name, wanted, allocatable.scalars?.get(name) ?? 0, requested.scalars?.get(name) ?? 0)
  }
  if (reasons.length === 0) return fits
  return { code: isHopeless ? 'UnschedulableAndUnresolvable' : 'Unschedulable', reasons, plugin: '' }
}

const emptyNodes = new WeakMap<V1Node, NodeInfo>()

/** The node without pods; every pod that waits asks for it. */
const knownNodeInfo = (node: V1Node): NodeInfo => emptyNodes.getOrInsertComputed(node, () => new NodeInfo(node))

const fitsEmpty = (pod: V1Pod, node: V1Node): boolean => lacking(knownPodInfo(pod), knownNodeInfo(node), () => false) === undefined

function hasGrown(pod: V1Pod, before: V1Node, after: V1Node): boolean {
  const one = knownNodeInfo(before).allocatable
  const other = knownNodeInfo(after).allocatable
  return other.pods > one.pods || wantedAmounts(knownPodInfo(pod).requests).some((amount) => amount(other) > amount(one))
}

function freesWhatIsWanted(pod: V1Pod, before: V1Pod, after: V1Pod): boolean {
  if (after.metadata.uid === pod.metadata.uid) return true
  if (!after.spec.nodeName) return false
  const one = knownPodInfo(before).requests
  const other = knownPodInfo(after).requests
  return wantedAmounts(knownPodInfo(pod).requests).some((amount) => amount(one) > amount(other))
}

/** How to read off each resource that is asked for. */
function wantedAmounts(wanted: Resources): ((amounts: Resources) => number)[] {
  const readers: ((amounts: Resources) => number)[] = []
  if (wanted.cpuMillis > 0) readers.push(({ cpuMillis }) => cpuMillis)
  if (wanted.memory > 0) readers.push(({ memory }) => memory)
  if (wanted.ephemeralStorage > 0) readers.push(({ ephemeralStorage }) => ephemeralStorage)
  for (const name of wanted.scalars?.keys() ?? []) readers.push(({ scalars }) => scalars?.get(name) ?? 0)
  return readers
}
