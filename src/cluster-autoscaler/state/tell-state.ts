import type { AutoscalerMetrics } from '#cluster-autoscaler/metrics.ts'
import type { AutoscalerOptions } from '#cluster-autoscaler/options.ts'
import type { ClusterSnapshot } from '#cluster-autoscaler/snapshot/cluster-snapshot.ts'
import { hasTaint, toBeDeletedTaint } from '#cluster-autoscaler/snapshot/taints.ts'
import type { ClusterState } from '#cluster-autoscaler/state/cluster-state.ts'
import { ResourceLimits } from '#cluster-autoscaler/state/resource-limits.ts'

/** The state of the cluster and of its groups, as metrics. */
export function tellState(
  state: ClusterState,
  { metrics, options, snapshot }: { metrics: AutoscalerMetrics; options: AutoscalerOptions; snapshot: ClusterSnapshot },
): void {
  const { ready, unready, notStarted, longUnregistered, unregistered } = state.total
  metrics.safeToAutoscale.set(state.isClusterHealthy() ? 1 : 0)
  for (const [name, list] of Object.entries({ ready, unready, notStarted, longUnregistered, unregistered }))
    metrics.nodes.set(list.length, { state: name })
  let [count, most] = [0, 0]
  for (const { group, targetSize } of state.groups) {
    const labels = { node_group: group.id }
    count++
    most += group.maxSize
    metrics.groupMin.set(group.minSize, labels)
    metrics.groupMax.set(group.maxSize, labels)
    metrics.groupTarget.set(targetSize, labels)
    metrics.groupHealthiness.set(state.isGroupHealthy(group.id) ? 1 : 0, labels)
    const backoff = state.backoffOf(group.id)
    metrics.groupBackoff.set(backoff === undefined ? 0 : 1, { ...labels, reason: backoff?.code ?? '' })
  }
  metrics.nodeGroups.set(count, { node_group_type: 'autoscaled' })
  metrics.maxNodes.set(options.maxNodesTotal > 0 ? Math.min(options.maxNodesTotal, most) : most)
  const staying = snapshot.nodes.map(({ node }) => node).filter((node) => !hasTaint(node, toBeDeletedTaint))
  const { total } = new ResourceLimits(options, staying)
  metrics.cores.set(total.cores)
  metrics.memory.set(total.bytes)
  for (const direction of ['min', 'max'] as const) {
    metrics.coreLimits.set(options.coresTotal[direction], { direction: `${direction}imum` })
    metrics.memoryLimits.set(options.memoryTotalBytes[direction], { direction: `${direction}imum` })
  }
}
