import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { antiAffinityTerms, livePodsOn, termMatcher } from '#controllers/descheduler/node-fit.ts'
import { definePlugin, type SelectingArgs, selectionProblems, selects } from '#controllers/descheduler/plugin.ts'
import { leastImportantFirst } from '#controllers/descheduler/pod-order.ts'

export const removePodsViolatingInterPodAntiAffinity = definePlugin<SelectingArgs>({
  name: 'RemovePodsViolatingInterPodAntiAffinity',
  point: 'deschedule',
  validate: selectionProblems,
  async run(args, handle) {
    const { view } = handle
    const isSelected = selects(args)
    const nodes = new Map(view.nodes.map((node) => [node.metadata.name ?? '', node]))
    const pods = view.nodes.flatMap(({ metadata }) => livePodsOn(view, metadata.name ?? '')).filter(isSelected)
    const byNamespace = new Map<string, Set<V1Pod>>()
    for (const pod of pods) {
      const namespace = pod.metadata.namespace ?? ''
      byNamespace.set(namespace, (byNamespace.get(namespace) ?? new Set()).add(pod))
    }
    for (const own of Map.groupBy(pods, ({ spec }) => spec.nodeName ?? '').values()) {
      for (const pod of leastImportantFirst(own)) {
        if (!meetsWhatItAvoids(pod, byNamespace, nodes) || !handle.filter(pod) || !handle.preEvictionFilter(pod)) continue
        const result = await handle.evict(pod)
        // Whom it met may stay now.
        if (result === 'evicted') byNamespace.get(pod.metadata.namespace ?? '')?.delete(pod)
        if (result === 'total limit') return
        if (result === 'node limit') break
      }
    }
  },
})

function meetsWhatItAvoids(pod: V1Pod, byNamespace: ReadonlyMap<string, ReadonlySet<V1Pod>>, nodes: ReadonlyMap<string, V1Node>): boolean {
  const here = nodes.get(pod.spec.nodeName ?? '')
  return antiAffinityTerms(pod).some((term) => {
    const avoids = termMatcher(pod, term)
    const namespaces = term.namespaces?.length ? term.namespaces : [pod.metadata.namespace ?? '']
    for (const namespace of namespaces) {
      for (const other of byNamespace.get(namespace) ?? []) {
        if (other.metadata.name === pod.metadata.name || !avoids(other)) continue
        const there = nodes.get(other.spec.nodeName ?? '')
        if (there !== undefined && here !== undefined && areTogether(here, there, term.topologyKey)) return true
      }
    }
    return false
  })
}

function areTogether(one: V1Node, other: V1Node, topologyKey: string): boolean {
  if (one.metadata.name === other.metadata.name) return true
  const value = one.metadata.labels?.[topologyKey]
  return value !== undefined && value === other.metadata.labels?.[topologyKey]
}
