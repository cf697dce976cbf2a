import type { SigningAuthority } from '#controllers/certificates/signing-authority.ts'

/** What can be told to controllers; the names of flags follow from those of upstream. */
export type ControllerSettings = {
  clusterName: string
  /** How many objects a controller works on at the same time, by its name; what it says itself where absent. */
  concurrency: Readonly<Record<string, number>>
  /** How long a controller gathers changes before it looks, by its name; what it says itself where absent. */
  batchMs: Readonly<Record<string, number>>
  /** PEM of the authority that pods shall trust; empty: no root CA is published. */
  rootCa: string
  allocateNodeCidrs: boolean
  clusterCidrs: readonly string[]
  serviceCidrs: readonly string[]
  /** 0: 24 and 64. */
  nodeCidrMaskSizeIpv4: number
  nodeCidrMaskSizeIpv6: number
  nodeMonitorPeriodMs: number
  nodeMonitorGraceMs: number
  nodeStartupGraceMs: number
  nodeEvictionRate: number
  secondaryNodeEvictionRate: number
  largeClusterSizeThreshold: number
  unhealthyZoneThreshold: number
  terminatedPodGcThreshold: number
  maxEndpointsPerSlice: number
  mirroringMaxEndpointsPerSubset: number
  namespaceSyncPeriodMs: number
  resourceQuotaSyncPeriodMs: number
  legacyTokenCleanUpPeriodMs: number
  /** Who signs certificates, by signer name. Asked before each, so that a renewed authority signs with what it has now. */
  signingAuthorities: Readonly<Record<string, () => Promise<SigningAuthority>>>
  /** How long a certificate lasts whose request does not ask for less. */
  signingDurationMs: number
  horizontalPodAutoscaler: {
    syncPeriodMs: number
    downscaleStabilizationMs: number
    tolerance: number
    cpuInitializationMs: number
    initialReadinessDelayMs: number
    /** Measurements come from Heapster instead of from the metrics APIs. */
    usesHeapster: boolean
  }
  /** Signs the token of a service account that lies in a secret; absent where there is no key. */
  signToken?(claims: Readonly<Record<string, string>>): string
  /** Volumes of nodes that do not answer stay attached until somebody says that the node is out of service. */
  disableForceDetachOnTimeout: boolean
  /** Removes a directory of the machine the controllers run on; absent where that is no node. */
  removeDirectory?(path: string): Promise<void>
  isEnabled(featureGate: string): boolean
}

export const defaultSettings: ControllerSettings = {
  clusterName: 'kubernetes',
  concurrency: {},
  batchMs: {},
  rootCa: '',
  allocateNodeCidrs: false,
  clusterCidrs: [],
  serviceCidrs: [],
  nodeCidrMaskSizeIpv4: 0,
  nodeCidrMaskSizeIpv6: 0,
  nodeMonitorPeriodMs: 5000,
  nodeMonitorGraceMs: 50_000,
  nodeStartupGraceMs: 60_000,
  nodeEvictionRate: 0.1,
  secondaryNodeEvictionRate: 0.01,
  largeClusterSizeThreshold: 50,
  unhealthyZoneThreshold: 0.55,
  terminatedPodGcThreshold: 12_500,
  maxEndpointsPerSlice: 100,
  mirroringMaxEndpointsPerSubset: 1000,
  namespaceSyncPeriodMs: 300_000,
  resourceQuotaSyncPeriodMs: 300_000,
  legacyTokenCleanUpPeriodMs: 8760 * 3_600_000,
  disableForceDetachOnTimeout: false,
  signingAuthorities: {},
  signingDurationMs: 8760 * 3_600_000,
  horizontalPodAutoscaler: {
    syncPeriodMs: 15_000,
    downscaleStabilizationMs: 300_000,
    tolerance: 0.1,
    cpuInitializationMs: 300_000,
    initialReadinessDelayMs: 30_000,
    usesHeapster: false,
  },
  isEnabled: () => true,
}
