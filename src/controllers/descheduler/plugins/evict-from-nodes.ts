/** Takes pods from nodes as long as there is room for them on others. */

import { tolerates } from '#api/core/v1/node/tolerations.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { livePodsOn } from '#controllers/descheduler/node-fit.ts'
import type { Namespaces, PluginHandle, PodFilter } from '#controllers/descheduler/plugin.ts'
import { leastImportantFirst } from '#controllers/descheduler/pod-order.ts'
import type { Amounts, UsageSource } from '#controllers/descheduler/usage.ts'

export type UsedNode = { node: V1Node; used: Amounts; allowed: Amounts }

export type EvictFromNodes = {
  /** In the order of their turns. */
  sources: readonly UsedNode[]
  destinations: readonly UsedNode[]
  usage: UsageSource
  names: readonly string[]
  mayGo: PodFilter
  evictableNamespaces: Namespaces | undefined
  maxPerNode: number | undefined
  /** Whether this node should give more. */
  isStillDue(source: UsedNode): boolean
}

export async function evictFromNodes(options: EvictFromNodes, handle: PluginHandle): Promise<void> {
  const { sources, destinations, names, usage, maxPerNode } = options
  const room: Amounts = Object.fromEntries(
    names.map((name) => [name, destinations.reduce((sum, { used, allowed }) => sum + (allowed[name] ?? 0) - (used[name] ?? 0), 0)]),
  )
  const hasRoom = () => names.every((name) => (room[name] ?? 0) > 0)
  const excluded = new Set(options.evictableNamespaces?.exclude)
  for (const source of sources) {
    if (!hasRoom() || !options.isStillDue(source)) continue
    let count = 0
    const pods = livePodsOn(handle.view, source.node.metadata.name ?? '').filter(options.mayGo)
    for (const pod of leastImportantFirst(pods)) {
      if (maxPerNode !== undefined && count >= maxPerNode) break
      if (excluded.has(pod.metadata.namespace ?? '') || !toleratesOne(pod, destinations) || !handle.preEvictionFilter(pod)) continue
      const own = usage.ofPod(pod)
      if (own === undefined) continue
      const result = await handle.evict(pod)
      if (result === 'total limit') return
      if (result === 'node limit') break
      if (result !== 'evicted') continue
      count++
      for (const name of names) {
        room[name] = (room[name] ?? 0) - (own[name] ?? 0)
        source.used[name] = (source.used[name] ?? 0) - (own[name] ?? 0)
      }
      if (!hasRoom() || !options.isStillDue(source)) break
    }
  }
}

const toleratesOne = ({ spec }: V1Pod, destinations: readonly UsedNode[]): boolean =>
  destinations.some(({ node }) => (node.spec?.taints ?? []).every((taint) => tolerates(spec.tolerations, taint)))

/** Thousandths of cores and whole units of everything else, added up as upstream does. */
export const sumOf = ({ used }: UsedNode): number =>
  Object.entries(used).reduce((sum, [name, amount]) => sum + (name === 'cpu' ? amount : amount / 1000), 0)
