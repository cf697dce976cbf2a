/** The hard rules of placing pods, worked out the slow way from the objects alone, to check the scheduler against. */

import type { V1Node, V1Pod, V1PodAffinityTerm } from '#api/core/v1/types.gen.ts'
import { milliValueOf, wholeValueOf } from '#api/meta/quantity.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'

/** Pods of known shape only: one container, labels matched by `matchLabels`, terms of the pod's own namespace. */
export function brokenRule(pod: V1Pod, node: V1Node, nodes: readonly V1Node[], placed: readonly V1Pod[]): string | undefined {
  const here = placed.filter(({ spec }) => spec.nodeName === node.metadata.name)
  if (node.spec?.unschedulable) return 'cordoned'
  for (const taint of node.spec?.taints ?? []) {
    const isTolerated = pod.spec.tolerations?.some(({ key }) => key === taint.key)
    if (taint.effect === 'NoSchedule' && !isTolerated) return 'taint'
  }
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {})) if (node.metadata.labels?.[key] !== value) return 'selector'
  if (here.length + 1 > wholeValueOf(node.status?.allocatable?.['pods'])) return 'pods'
  const sum = (of: (pod: V1Pod) => number) => here.reduce((total, each) => total + of(each), of(pod))
  if (cpuOf(pod) > 0 && sum(cpuOf) > milliValueOf(node.status?.allocatable?.['cpu'])) return 'cpu'
  if (memoryOf(pod) > 0 && sum(memoryOf) > wholeValueOf(node.status?.allocatable?.['memory'])) return 'memory'
  const port = hostPortOf(pod)
  if (port !== undefined && here.some((each) => hostPortOf(each) === port)) return 'port'
  return brokenAffinity(pod, node, nodes, placed) ?? brokenSpread(pod, node, nodes, placed)
}

const requestOf = (pod: V1Pod, name: string) => pod.spec.containers[0]?.resources?.requests?.[name]
const cpuOf = (pod: V1Pod): number => milliValueOf(requestOf(pod, 'cpu'))
const memoryOf = (pod: V1Pod): number => wholeValueOf(requestOf(pod, 'memory'))
const hostPortOf = ({ spec }: V1Pod) => spec.containers[0]?.ports?.[0]?.hostPort

const matches = (selector: V1LabelSelector | undefined, { metadata }: V1Pod): boolean =>
  Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => metadata.labels?.[key] === value)

function brokenAffinity(pod: V1Pod, node: V1Node, nodes: readonly V1Node[], placed: readonly V1Pod[]): string | undefined {
  const placeOf = ({ spec }: V1Pod, key: string) => nodes.find(({ metadata }) => metadata.name === spec.nodeName)?.metadata.labels?.[key]
  const concerns = (owner: V1Pod, term: V1PodAffinityTerm, other: V1Pod) =>
    owner.metadata.namespace === other.metadata.namespace && matches(term.labelSelector, other)
  const here = (key: string) => node.metadata.labels?.[key]
  const near = pod.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  for (const term of near) {
    const place = here(term.topologyKey)
    if (place === undefined) return 'affinity'
    const friends = placed.filter((other) => concerns(pod, term, other) && placeOf(other, term.topologyKey) !== undefined)
    const isFirst = friends.length === 0 && concerns(pod, term, pod)
    if (!isFirst && !friends.some((other) => placeOf(other, term.topologyKey) === place)) return 'affinity'
  }
  for (const other of placed) {
    for (const [owner, subject] of [
      [pod, other],
      [other, pod],
    ] as const) {
      for (const term of owner.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
        const place = here(term.topologyKey)
        if (place !== undefined && concerns(owner, term, subject) && placeOf(other, term.topologyKey) === place) return 'anti-affinity'
      }
    }
  }
  return undefined
}

function brokenSpread(pod: V1Pod, node: V1Node, nodes: readonly V1Node[], placed: readonly V1Pod[]): string | undefined {
  const constraints = (pod.spec.topologySpreadConstraints ?? []).filter(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule')
  const hasKeys = ({ metadata }: V1Node) => constraints.every(({ topologyKey }) => metadata.labels?.[topologyKey] !== undefined)
  const isEligible = (each: V1Node) =>
    hasKeys(each) && Object.entries(pod.spec.nodeSelector ?? {}).every(([key, value]) => each.metadata.labels?.[key] === value)
  for (const { topologyKey, maxSkew, labelSelector } of constraints) {
    const place = node.metadata.labels?.[topologyKey]
    if (place === undefined) return 'spread'
    const counts = new Map<string, number>()
    for (const each of nodes.filter(isEligible)) {
      const value = each.metadata.labels?.[topologyKey] ?? ''
      const own = placed.filter(
        (other) =>
          other.spec.nodeName === each.metadata.name &&
          other.metadata.namespace === pod.metadata.namespace &&
          matches(labelSelector, other),
      )
      counts.set(value, (counts.get(value) ?? 0) + own.length)
    }
    const fewest = Math.min(...counts.values())
    const self = matches(labelSelector, pod) ? 1 : 0
    if ((counts.get(place) ?? 0) + self - fewest > maxSkew) return 'spread'
  }
  return undefined
}
