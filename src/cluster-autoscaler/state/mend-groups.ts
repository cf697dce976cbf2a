import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { AutoscalerMetrics } from '#cluster-autoscaler/metrics.ts'
import { type ClusterState, type GroupState, nodeOfInstance } from '#cluster-autoscaler/state/cluster-state.ts'
import type { StatusEvents } from '#cluster-autoscaler/state/status-events.ts'

type Parts = { statusEvents: StatusEvents; metrics: AutoscalerMetrics; logger: Logger }

/** Puts right what a provider has left wrong: machines that never registered, that failed, that were only promised. Tells whether sizes have changed. */
export async function mendGroups(groups: readonly GroupState[], state: ClusterState, parts: Parts): Promise<boolean> {
  let hasChanged = false
  for (const each of groups) {
    const { group } = each
    try {
      await removeUnregistered(each, state, parts)
      const failed = state.failedInstances(group.id)
      if (failed.length > 0) await group.deleteNodes(failed.map(({ id }) => nodeOfInstance(id)))
      const excess = state.excess(group.id)
      if (excess > 0) {
        parts.logger.warn('decreasing target size of node group to what is there', { nodeGroup: group.id, by: excess })
        await group.decreaseTargetSize(excess)
        hasChanged = true
      }
    } catch (error) {
      parts.logger.warn('failed to mend node group', { nodeGroup: group.id, error: errorMessage(error) })
    }
  }
  return hasChanged
}

async function removeUnregistered({ group, targetSize }: GroupState, state: ClusterState, { statusEvents, metrics }: Parts): Promise<void> {
  const nodes = state.longUnregistered(group.id).slice(0, Math.max(0, targetSize - group.minSize))
  if (nodes.length === 0) return
  try {
    await group.deleteNodes(nodes)
  } catch (error) {
    for (const { metadata } of nodes)
      statusEvents.warning('DeleteUnregisteredFailed', `Failed to remove node ${metadata.name}: ${errorMessage(error)}`)
    throw error
  }
  for (const { metadata } of nodes) statusEvents.normal('DeleteUnregistered', `Removed unregistered node ${metadata.name}`)
  metrics.oldUnregisteredRemoved.inc({}, nodes.length)
}
