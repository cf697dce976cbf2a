import { fitsNodeLabels, untoleratedTaint } from '#api/core/v1/node/node-fit.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { hardEffects, livePodsOn } from '#controllers/descheduler/node-fit.ts'
import { definePlugin, type Namespaces, selectionProblems, selects } from '#controllers/descheduler/plugin.ts'
import { sortedJson } from '#controllers/workload/sorted-json.ts'

type Args = { namespaces?: Namespaces; excludeOwnerKinds?: readonly string[] }

/** Pods of one owner with the same images, beyond the first on each node. */
type Duplicates = { total: number; byNode: Map<string, V1Pod[]> }

export const removeDuplicates = definePlugin<Args>({
  name: 'RemoveDuplicates',
  point: 'balance',
  validate: selectionProblems,
  async run(args, handle) {
    const { view } = handle
    const isSelected = selects(args)
    const groups = new Map<string, Duplicates>()
    for (const { metadata } of view.nodes) {
      const node = metadata.name ?? ''
      const seen = new Set<string>()
      for (const pod of livePodsOn(view, node)) {
        const owners = pod.metadata.ownerReferences ?? []
        if (owners.length === 0 || owners.some(({ kind }) => args.excludeOwnerKinds?.includes(kind))) continue
        if (!isSelected(pod) || !handle.filter(pod) || !handle.preEvictionFilter(pod)) continue
        const images = pod.spec.containers.map(({ image }) => image ?? '').sort()
        const keys = owners.map(({ kind, name }) => sortedJson([pod.metadata.namespace, kind, name, images])).sort()
        const isDuplicate = seen.has(keys.join())
        seen.add(keys.join())
        for (const key of keys) {
          const group = groups.get(key) ?? { total: 0, byNode: new Map() }
          groups.set(key, group)
          group.total++
          if (!isDuplicate) continue
          const here = group.byNode.get(node)
          if (here === undefined) group.byNode.set(node, [pod])
          else here.push(pod)
        }
      }
    }
    const full = new Set<string>()
    for (const { total, byNode } of groups.values()) {
      const targets = feasibleNodes([...byNode.values()].flat(), view.nodes)
      if (targets < 2) continue
      const most = Math.ceil(total / targets)
      for (const [node, pods] of byNode) {
        if (pods.length + 1 <= most) continue
        for (const pod of pods.slice(most - 1)) {
          if (full.has(node)) break
          const result = await handle.evict(pod)
          if (result === 'node limit') full.add(node)
          if (result === 'total limit') return
        }
      }
    }
  },
})

/** On how many nodes these could be, of pods that have a choice at all. */
function feasibleNodes(pods: readonly V1Pod[], nodes: readonly V1Node[]): number {
  const demands = ({ spec }: V1Pod) =>
    sortedJson([
      spec.tolerations ?? [],
      spec.nodeSelector ?? {},
      spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
    ])
  const targets = new Set<string>()
  for (const [pod] of Map.groupBy(pods, demands).values()) {
    if (pod === undefined) continue
    const able = nodes.filter(
      (node) => untoleratedTaint(node.spec?.taints, pod.spec.tolerations, hardEffects) === undefined && fitsNodeLabels(pod.spec, node),
    )
    if (able.length > 1) for (const { metadata } of able) targets.add(metadata.name ?? '')
  }
  return targets.size
}
