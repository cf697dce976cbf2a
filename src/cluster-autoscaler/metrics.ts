/** The cluster autoscaler's metrics, by upstream's names. */
import type { Metrics } from '#base/metrics.ts'

export type AutoscalerMetrics = ReturnType<typeof autoscalerMetrics>

const loopSeconds = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 7.5, 10, 12.5, 15, 17.5, 20, 22.5, 25, 27.5, 30, 50, 75, 100, 1000]

export function autoscalerMetrics(metrics: Metrics) {
  const gauge = (name: string, help: string) => metrics.gauge(`cluster_autoscaler_${name}`, help)
  const counter = (name: string, help: string) => metrics.counter(`cluster_autoscaler_${name}`, help)
  return {
    safeToAutoscale: gauge('cluster_safe_to_autoscale', 'Whether the cluster is healthy enough to be scaled: 1 if it is.'),
    nodes: gauge('nodes_count', 'Nodes of the cluster, by state.'),
    nodeGroups: gauge('node_groups_count', 'Node groups that are scaled, by type.'),
    unschedulablePods: gauge('unschedulable_pods_count', 'Pods that fit nowhere.'),
    maxNodes: gauge('max_nodes_count', 'How many nodes all groups together may have.'),
    cores: gauge('cluster_cpu_current_cores', 'Cores of the cluster, nodes that are being deleted not counted.'),
    coreLimits: gauge('cpu_limits_cores', 'The least and the most cores the cluster may have.'),
    memory: gauge('cluster_memory_current_bytes', 'Memory of the cluster, nodes that are being deleted not counted.'),
    memoryLimits: gauge('memory_limits_bytes', 'The least and the most memory the cluster may have.'),
    groupMin: gauge('node_group_min_count', 'The least nodes of a group.'),
    groupMax: gauge('node_group_max_count', 'The most nodes of a group.'),
    groupTarget: gauge('node_group_target_count', 'How many nodes a group shall have.'),
    groupHealthiness: gauge('node_group_healthiness', 'Whether a group is healthy enough to be scaled: 1 if it is.'),
    groupBackoff: gauge('node_group_backoff_status', 'Whether a group is left alone after a failure: 1 if it is.'),
    lastActivity: gauge('last_activity', 'When each part of the loop ran last.'),
    functionDuration: metrics.histogram(
      'cluster_autoscaler_function_duration_seconds',
      'How long each part of the loop took.',
      loopSeconds,
    ),
    pendingDeletions: gauge('pending_node_deletions', 'Nodes whose deletion is under way.'),
    errors: counter('errors_total', 'Rounds that failed, by type of error.'),
    scaledUp: counter('scaled_up_nodes_total', 'Nodes added.'),
    failedScaleUps: counter('failed_scale_ups_total', 'How often groups failed to grow.'),
    failedNodeCreations: counter('failed_node_creations_total', 'Nodes that failed to be added.'),
    scaledDown: counter('scaled_down_nodes_total', 'Nodes removed, by reason.'),
    evictedPods: counter('evicted_pods_total', 'Pods evicted, by result.'),
    unneededNodes: gauge('unneeded_nodes_count', 'Nodes that are not needed now.'),
    unremovableNodes: gauge('unremovable_nodes_count', 'Nodes that cannot be removed now, by reason.'),
    scaleDownInCooldown: gauge('scale_down_in_cooldown', 'Whether scale-down waits after something happened: 1 if it does.'),
    oldUnregisteredRemoved: counter('old_unregistered_nodes_removed_count', 'Machines that never became nodes and were removed.'),
    skippedScaleEvents: counter('skipped_scale_events_count', 'Scalings that were left out, by direction and reason.'),
  }
}
