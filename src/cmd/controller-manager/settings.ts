import { createPrivateKey } from 'node:crypto'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { signJwt } from '#apiserver/authn/service-account/jwt.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import { parseRange } from '#base/ip-range.ts'
import type { ControllerManagerFlags } from '#cmd/controller-manager/flags.ts'
import { signingAuthoritiesOf } from '#cmd/controller-manager/signing-authorities.ts'
import type { ControllerSettings } from '#controllers/runtime/settings.ts'

/** What the flags tell the controllers. */
export async function settingsOf(flags: ControllerManagerFlags, files: Files): Promise<ControllerSettings> {
  const gates = new FeatureGates(flags.featureGates.join(','))
  const key = flags.serviceAccountPrivateKeyFile
  const signer = key === '' ? undefined : createPrivateKey(await files.readText(key))
  return {
    clusterName: flags.clusterName,
    concurrency: concurrencyOf(flags),
    rootCa: flags.rootCaFile === '' ? '' : await files.readText(flags.rootCaFile),
    allocateNodeCidrs: flags.allocateNodeCidrs,
    clusterCidrs: flags.clusterCidr,
    serviceCidrs: flags.serviceClusterIpRange,
    ...nodeMaskSizes(flags),
    nodeMonitorPeriodMs: flags.nodeMonitorPeriod,
    nodeMonitorGraceMs: flags.nodeMonitorGracePeriod,
    nodeStartupGraceMs: flags.nodeStartupGracePeriod,
    nodeEvictionRate: flags.nodeEvictionRate,
    secondaryNodeEvictionRate: flags.secondaryNodeEvictionRate,
    unhealthyZoneThreshold: flags.unhealthyZoneThreshold,
    largeClusterSizeThreshold: flags.largeClusterSizeThreshold,
    terminatedPodGcThreshold: flags.terminatedPodGcThreshold,
    disableForceDetachOnTimeout: flags.disableForceDetachOnTimeout,
    maxEndpointsPerSlice: flags.maxEndpointsPerSlice,
    mirroringMaxEndpointsPerSubset: flags.mirroringMaxEndpointsPerSubset,
    batchMs: {
      'horizontal-pod-autoscaler-controller': flags.horizontalPodAutoscalerSyncPeriod,
      'endpoints-controller': flags.endpointUpdatesBatchPeriod,
      'endpointslice-controller': flags.endpointsliceUpdatesBatchPeriod,
      'endpointslice-mirroring-controller': flags.mirroringEndpointsliceUpdatesBatchPeriod,
    },
    namespaceSyncPeriodMs: flags.namespaceSyncPeriod,
    resourceQuotaSyncPeriodMs: flags.resourceQuotaSyncPeriod,
    signingAuthorities: await signingAuthoritiesOf(flags, files),
    signingDurationMs: flags.clusterSigningDuration,
    horizontalPodAutoscaler: {
      syncPeriodMs: flags.horizontalPodAutoscalerSyncPeriod,
      downscaleStabilizationMs: flags.horizontalPodAutoscalerDownscaleStabilization,
      tolerance: flags.horizontalPodAutoscalerTolerance,
      cpuInitializationMs: flags.horizontalPodAutoscalerCpuInitializationPeriod,
      initialReadinessDelayMs: flags.horizontalPodAutoscalerInitialReadinessDelay,
      usesHeapster: !flags.horizontalPodAutoscalerUseRestClients,
    },
    legacyTokenCleanUpPeriodMs: flags.legacyServiceAccountTokenCleanUpPeriod,
    ...defined({ signToken: signer && ((claims: Readonly<Record<string, string>>) => signJwt(claims, signer)) }),
    removeDirectory: (path) => files.remove(path),
    isEnabled: (gate) => gates.isEnabled(gate),
  }
}

/** One size serves clusters of one family; those of two say both. */
export function nodeMaskSizes({
  nodeCidrMaskSize,
  nodeCidrMaskSizeIpv4,
  nodeCidrMaskSizeIpv6,
  clusterCidr,
}: Pick<ControllerManagerFlags, 'nodeCidrMaskSize' | 'nodeCidrMaskSizeIpv4' | 'nodeCidrMaskSizeIpv6' | 'clusterCidr'>) {
  if (nodeCidrMaskSize !== 0 && (nodeCidrMaskSizeIpv4 !== 0 || nodeCidrMaskSizeIpv6 !== 0))
    throw new Error('usage of --node-cidr-mask-size with --node-cidr-mask-size-ipv4 or --node-cidr-mask-size-ipv6 is not allowed')
  const isV6 = clusterCidr.some((cidr) => parseRange(cidr).family === 'IPv6')
  const isDual = isV6 && clusterCidr.some((cidr) => parseRange(cidr).family === 'IPv4')
  if (isDual && nodeCidrMaskSize !== 0) throw new Error('usage of --node-cidr-mask-size is not allowed with dual-stack clusters')
  return {
    nodeCidrMaskSizeIpv4: isV6 && !isDual ? 0 : nodeCidrMaskSizeIpv4 || nodeCidrMaskSize,
    nodeCidrMaskSizeIpv6: isV6 ? nodeCidrMaskSizeIpv6 || nodeCidrMaskSize : 0,
  }
}

function concurrencyOf(flags: ControllerManagerFlags): Record<string, number> {
  return {
    'deployment-controller': flags.concurrentDeploymentSyncs,
    'replicaset-controller': flags.concurrentReplicasetSyncs,
    'replicationcontroller-controller': flags.concurrentRcSyncs,
    'statefulset-controller': flags.concurrentStatefulsetSyncs,
    'daemonset-controller': flags.concurrentDaemonsetSyncs,
    'job-controller': flags.concurrentJobSyncs,
    'cronjob-controller': flags.concurrentCronJobSyncs,
    'ttl-after-finished-controller': flags.concurrentTtlAfterFinishedSyncs,
    'endpoints-controller': flags.concurrentEndpointSyncs,
    'endpointslice-controller': flags.concurrentServiceEndpointSyncs,
    'endpointslice-mirroring-controller': flags.mirroringConcurrentServiceEndpointSyncs,
    'namespace-controller': flags.concurrentNamespaceSyncs,
    'resourcequota-controller': flags.concurrentResourceQuotaSyncs,
    'serviceaccount-token-controller': flags.concurrentServiceaccountTokenSyncs,
    'horizontal-pod-autoscaler-controller': flags.concurrentHorizontalPodAutoscalerSyncs,
    'ephemeral-volume-controller': flags.concurrentEphemeralvolumeSyncs,
    'garbage-collector-controller': flags.concurrentGcSyncs,
  }
}
