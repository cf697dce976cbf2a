/** Whether a pod could be on a node, by the few rules that the descheduler looks at; the scheduler knows more. */

import { fitsNodeLabels, untoleratedTaint } from '#api/core/v1/node/node-fit.ts'
import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import { podRequests } from '#api/core/v1/resources.ts'
import type { V1Node, V1Pod, V1PodAffinityTerm } from '#api/core/v1/types.gen.ts'
import { milliValueOf } from '#api/meta/quantity.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import type { ClusterView } from '#controllers/descheduler/plugin.ts'

/** Those that keep pods away, or drive them away. */
export const hardEffects: readonly string[] = ['NoSchedule', 'NoExecute']

export const livePodsOn = (view: ClusterView, nodeName: string): readonly V1Pod[] =>
  view.podsOn(nodeName).filter((pod) => !isPodFinished(pod))

export const fitsAnyOtherNode = (pod: V1Pod, nodes: readonly V1Node[], view: ClusterView): boolean =>
  nodes.some((node) => node.metadata.name !== pod.spec.nodeName && fitsNode(pod, node, view))

export const fitsAnyNode = (pod: V1Pod, nodes: readonly V1Node[], view: ClusterView): boolean =>
  nodes.some((node) => fitsNode(pod, node, view))

function fitsNode(pod: V1Pod, node: V1Node, view: ClusterView): boolean {
  if (node.spec?.unschedulable || !fitsNodeLabels(pod.spec, node)) return false
  if (untoleratedTaint(node.spec?.taints, pod.spec.tolerations, hardEffects) !== undefined) return false
  if (meetsWhatItAvoids(pod, node, view)) return false
  return pod.spec.nodeName === node.metadata.name || hasRoom(pod, node, view)
}

function meetsWhatItAvoids(pod: V1Pod, node: V1Node, view: ClusterView): boolean {
  const terms = antiAffinityTerms(pod)
  if (terms.length === 0) return false
  const others = livePodsOn(view, node.metadata.name ?? '').filter(({ metadata }) => metadata.name !== pod.metadata.name)
  return terms.some((term) => {
    if (node.metadata.labels?.[term.topologyKey] === undefined) return false
    const avoids = termMatcher(pod, term)
    return others.some(avoids)
  })
}

export const antiAffinityTerms = ({ spec }: V1Pod): readonly V1PodAffinityTerm[] =>
  spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []

/** Which pods a term of this pod is about. */
export function termMatcher(pod: V1Pod, term: V1PodAffinityTerm): (other: V1Pod) => boolean {
  const namespaces = new Set(term.namespaces?.length ? term.namespaces : [pod.metadata.namespace ?? ''])
  const selector = labelSelectorFrom(term.labelSelector)
  return ({ metadata }) => namespaces.has(metadata.namespace ?? '') && selector.matches(metadata.labels)
}

function hasRoom(pod: V1Pod, node: V1Node, view: ClusterView): boolean {
  const present = livePodsOn(view, node.metadata.name ?? '')
  const allocatable = node.status?.allocatable ?? {}
  if (milliValueOf(allocatable['pods']) - present.length * 1000 <= 0) return false
  const wanted = podRequests(pod.spec)
  const names = Object.keys(wanted)
  if (names.length === 0) return true
  const used = new Map<string, number>()
  for (const { spec } of present) {
    const requests = podRequests(spec)
    for (const name of names) used.set(name, (used.get(name) ?? 0) + (requests[name]?.milliValue() ?? 0))
  }
  return names.every((name) => (wanted[name]?.milliValue() ?? 0) <= milliValueOf(allocatable[name]) - (used.get(name) ?? 0))
}
