import type { OptionValues } from '#base/options.ts'
import { type AutoscalerOptions, defaultAutoscalerOptions, type Range } from '#cluster-autoscaler/options.ts'
import { expanderNames } from '#cluster-autoscaler/scale-up/expanders-of.ts'
import type { autoscalingOptions, ClusterAutoscalerFlags } from '#cmd/cluster-autoscaler/flags.ts'

/** Throws on an expander that there is none. */
export function optionsOfFlags(flags: ClusterAutoscalerFlags): AutoscalerOptions {
  return {
    ...commonOptions(flags),
    namespace: flags.namespace,
    statusConfigMapName: flags.statusConfigMapName,
    writesStatus: flags.writeStatusConfigmap,
    coresTotal: rangeOf(flags.coresTotal),
    memoryTotalBytes: rangeOf(flags.memoryTotal, 2 ** 30),
    balancingIgnoreLabels: flags.balancingIgnoreLabel,
    balancingLabels: flags.balancingLabel,
    enforceNodeGroupMinSize: flags.enforceNodeGroupMinSize,
    scaleUpFromZero: flags.scaleUpFromZero,
    newPodScaleUpDelayMs: flags.newPodScaleUpDelay,
    expendablePodsPriorityCutoff: flags.expendablePodsPriorityCutoff,
    maxNodesPerScaleUp: flags.maxNodesPerScaleup,
    startupTaints: [...flags.startupTaint, ...flags.ignoreTaint],
    statusTaints: flags.statusTaint,
    maxTotalUnreadyPercentage: flags.maxTotalUnreadyPercentage,
    okTotalUnreadyCount: flags.okTotalUnreadyCount,
    initialNodeGroupBackoffMs: flags.initialNodeGroupBackoffDuration,
    maxNodeGroupBackoffMs: flags.maxNodeGroupBackoffDuration,
    nodeGroupBackoffResetMs: flags.nodeGroupBackoffResetTimeout,
    scaleDownEnabled: flags.scaleDownEnabled,
    scaleDownUnreadyEnabled: flags.scaleDownUnreadyEnabled,
    scaleDownDelayAfterDeleteMs: flags.scaleDownDelayAfterDelete,
    scaleDownDelayAfterFailureMs: flags.scaleDownDelayAfterFailure,
    unremovableNodeRecheckMs: flags.unremovableNodeRecheckTimeout,
    ignoreMirrorPodsUtilization: flags.ignoreMirrorPodsUtilization,
    skipNodesWithSystemPods: flags.skipNodesWithSystemPods,
    blockingSystemPodMs: flags.blockingSystemPodDistruptionTimeout,
    skipNodesWithLocalStorage: flags.skipNodesWithLocalStorage,
    skipNodesWithCustomControllerPods: flags.skipNodesWithCustomControllerPods,
    minReplicaCount: flags.minReplicaCount,
    maxEmptyBulkDelete: flags.maxEmptyBulkDelete,
    maxScaleDownParallelism: flags.maxScaleDownParallelism,
    maxDrainParallelism: flags.maxDrainParallelism,
    maxGracefulTerminationSeconds: flags.maxGracefulTerminationSec,
    maxPodEvictionMs: flags.maxPodEvictionTime,
    nodeDeletionDelayMs: flags.nodeDeletionDelayTimeout,
    nodeDeleteDelayAfterTaintMs: flags.nodeDeleteDelayAfterTaint,
    maxBulkSoftTaintCount: flags.maxBulkSoftTaintCount,
    cordonNodeBeforeTerminate: flags.cordonNodeBeforeTerminating,
    daemonSetEvictionForEmptyNodes: flags.daemonsetEvictionForEmptyNodes,
    daemonSetEvictionForOccupiedNodes: flags.daemonsetEvictionForOccupiedNodes,
    group: {
      ...commonOptions(flags).group,
      scaleDownGpuUtilizationThreshold: flags.scaleDownGpuUtilizationThreshold,
      scaleDownUnreadyMs: flags.scaleDownUnreadyTime,
      maxNodeProvisionMs: flags.maxNodeProvisionTime,
      ignoreDaemonSetsUtilization: flags.ignoreDaemonsetsUtilization,
    },
  }
}

/** Of the flags that `up` has as well. */
export function commonOptions(flags: OptionValues<typeof autoscalingOptions>): AutoscalerOptions {
  for (const name of flags.expander)
    if (!expanderNames.includes(name)) throw new Error(`--expander: ${name} is none of ${expanderNames.join(', ')}`)
  return {
    ...defaultAutoscalerOptions,
    expanders: flags.expander,
    scanIntervalMs: flags.scanInterval,
    maxNodesTotal: flags.maxNodesTotal,
    balanceSimilarNodeGroups: flags.balanceSimilarNodeGroups,
    scaleDownDelayAfterAddMs: flags.scaleDownDelayAfterAdd,
    group: {
      ...defaultAutoscalerOptions.group,
      scaleDownUnneededMs: flags.scaleDownUnneededTime,
      scaleDownUtilizationThreshold: flags.scaleDownUtilizationThreshold,
    },
  }
}

function rangeOf(text: string, unit = 1): Range {
  const [min = 0, max = 0] = text.split(':').map(Number)
  return { min: min * unit, max: max * unit }
}
