import type { GroupOptions } from '#cluster-autoscaler/provider/node-group.ts'

/** The flags of the cluster autoscaler, by upstream's names and defaults. */
export type AutoscalerOptions = {
  readonly scanIntervalMs: number
  readonly namespace: string
  readonly statusConfigMapName: string
  readonly writesStatus: boolean
  readonly expanders: readonly string[]
  /** 0: no limit. */
  readonly maxNodesTotal: number
  readonly coresTotal: Range
  readonly memoryTotalBytes: Range
  readonly balanceSimilarNodeGroups: boolean
  readonly balancingIgnoreLabels: readonly string[]
  readonly balancingLabels: readonly string[]
  readonly enforceNodeGroupMinSize: boolean
  readonly scaleUpFromZero: boolean
  readonly newPodScaleUpDelayMs: number
  readonly expendablePodsPriorityCutoff: number
  readonly maxNodesPerScaleUp: number
  readonly startupTaints: readonly string[]
  readonly statusTaints: readonly string[]
  readonly maxTotalUnreadyPercentage: number
  readonly okTotalUnreadyCount: number
  readonly initialNodeGroupBackoffMs: number
  readonly maxNodeGroupBackoffMs: number
  readonly nodeGroupBackoffResetMs: number

  readonly scaleDownEnabled: boolean
  readonly scaleDownUnreadyEnabled: boolean
  readonly scaleDownDelayAfterAddMs: number
  readonly scaleDownDelayAfterDeleteMs: number
  readonly scaleDownDelayAfterFailureMs: number
  readonly unremovableNodeRecheckMs: number
  readonly ignoreMirrorPodsUtilization: boolean
  readonly skipNodesWithSystemPods: boolean
  /** Then also pods of kube-system without a disruption budget are moved. */
  readonly blockingSystemPodMs: number
  readonly skipNodesWithLocalStorage: boolean
  readonly skipNodesWithCustomControllerPods: boolean
  readonly minReplicaCount: number
  /** Empty nodes at a time. */
  readonly maxEmptyBulkDelete: number
  readonly maxScaleDownParallelism: number
  readonly maxDrainParallelism: number
  readonly maxGracefulTerminationSeconds: number
  readonly maxPodEvictionMs: number
  readonly nodeDeletionDelayMs: number
  readonly nodeDeleteDelayAfterTaintMs: number
  readonly maxBulkSoftTaintCount: number
  readonly cordonNodeBeforeTerminate: boolean
  readonly daemonSetEvictionForEmptyNodes: boolean
  readonly daemonSetEvictionForOccupiedNodes: boolean
  readonly group: GroupOptions
}

export type Range = { readonly min: number; readonly max: number }

const minuteMs = 60_000

export const defaultAutoscalerOptions: AutoscalerOptions = {
  scanIntervalMs: 10_000,
  namespace: 'kube-system',
  statusConfigMapName: 'cluster-autoscaler-status',
  writesStatus: true,
  expanders: ['least-waste'],
  maxNodesTotal: 0,
  coresTotal: { min: 0, max: 320_000 },
  memoryTotalBytes: { min: 0, max: 6_400_000 * 2 ** 30 },
  balanceSimilarNodeGroups: false,
  balancingIgnoreLabels: [],
  balancingLabels: [],
  enforceNodeGroupMinSize: false,
  scaleUpFromZero: true,
  newPodScaleUpDelayMs: 0,
  expendablePodsPriorityCutoff: -10,
  maxNodesPerScaleUp: 1000,
  startupTaints: [],
  statusTaints: [],
  maxTotalUnreadyPercentage: 45,
  okTotalUnreadyCount: 3,
  initialNodeGroupBackoffMs: 5 * minuteMs,
  maxNodeGroupBackoffMs: 30 * minuteMs,
  nodeGroupBackoffResetMs: 180 * minuteMs,

  scaleDownEnabled: true,
  scaleDownUnreadyEnabled: true,
  scaleDownDelayAfterAddMs: 10 * minuteMs,
  scaleDownDelayAfterDeleteMs: 0,
  scaleDownDelayAfterFailureMs: 3 * minuteMs,
  unremovableNodeRecheckMs: 5 * minuteMs,
  ignoreMirrorPodsUtilization: false,
  skipNodesWithSystemPods: true,
  blockingSystemPodMs: 60 * minuteMs,
  skipNodesWithLocalStorage: true,
  skipNodesWithCustomControllerPods: true,
  minReplicaCount: 0,
  maxEmptyBulkDelete: 10,
  maxScaleDownParallelism: 10,
  maxDrainParallelism: 1,
  maxGracefulTerminationSeconds: 600,
  maxPodEvictionMs: 2 * minuteMs,
  nodeDeletionDelayMs: 2 * minuteMs,
  nodeDeleteDelayAfterTaintMs: 5000,
  maxBulkSoftTaintCount: 10,
  cordonNodeBeforeTerminate: true,
  daemonSetEvictionForEmptyNodes: false,
  daemonSetEvictionForOccupiedNodes: true,
  group: {
    scaleDownUtilizationThreshold: 0.5,
    scaleDownGpuUtilizationThreshold: 0.5,
    scaleDownUnneededMs: 10 * minuteMs,
    scaleDownUnreadyMs: 20 * minuteMs,
    maxNodeProvisionMs: 15 * minuteMs,
    ignoreDaemonSetsUtilization: false,
    zeroOrMaxNodeScaling: false,
  },
}
