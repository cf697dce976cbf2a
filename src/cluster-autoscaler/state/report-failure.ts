import type { Logger } from '#base/log.ts'
import type { AutoscalerMetrics } from '#cluster-autoscaler/metrics.ts'
import type { FailureListener } from '#cluster-autoscaler/state/cluster-state.ts'
import type { StatusEvents } from '#cluster-autoscaler/state/status-events.ts'

/** A group that failed to grow, as events, metrics and a line of the log. */
export function reportFailure(
  { group, kind, error, count, afterMs }: Parameters<FailureListener>[0],
  { statusEvents, metrics, logger }: { statusEvents: StatusEvents; metrics: AutoscalerMetrics; logger: Logger },
): void {
  const reason = kind === 'timeout' ? 'timeout' : kind === 'request' ? 'cloudProviderError' : error.code
  metrics.failedScaleUps.inc({ reason, gpu_resource_name: '', gpu_name: '', dra_drivers: '' })
  metrics.failedNodeCreations.inc({ reason }, count)
  logger.warn('node group failed to grow, leaving it alone for a while', { nodeGroup: group.id, reason, error: error.message, count })
  if (kind === 'timeout')
    statusEvents.warning('ScaleUpTimedOut', `Nodes added to group ${group.id} failed to register within ${afterMs / 1000}s`)
  if (kind === 'instances') {
    const errorClass = error.isOutOfResources ? 'OutOfResource' : 'Other'
    statusEvents.warning(
      'ScaleUpFailed',
      `Failed adding ${count} nodes to group ${group.id} due to ${errorClass}.${error.code}; source errors: ${error.message}`,
    )
  }
}
