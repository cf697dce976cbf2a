import {
  decimal,
  defineOptions,
  duration,
  list,
  type OptionDeclaration,
  type OptionValues,
  onOff,
  text,
  wholeNumber,
} from '#base/options.ts'
import { checkFeatureGate } from '#cmd/check-values.ts'
import { versionOptions } from '#cmd/component-versions.ts'
import { leaderElectionOptions } from '#cmd/leader-election-options.ts'
import { logOptions } from '#cmd/log-options.ts'
import { managerOptions, nodeRangeOptions } from '#cmd/manager-options.ts'
import { flagsWithoutEffect } from '#cmd/without-effect.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'

const hourMs = 3_600_000

export const controllerManagerOptions = defineOptions({
  ...managerOptions({ example: 'job', port: 10_257 }),
  ...leaderElectionOptions('controller managers', 'kube-controller-manager'),

  clusterName: text('the name of the cluster', { placeholder: 'NAME', default: defaultSettings.clusterName }),
  rootCaFile: text('the authority that is published to pods', { placeholder: 'FILE', default: '' }),
  serviceAccountPrivateKeyFile: text('signs the tokens that lie in secrets', { placeholder: 'FILE', default: '' }),
  legacyServiceAccountTokenCleanUpPeriod: duration('how long such a token may go unused before it is removed', {
    default: defaultSettings.legacyTokenCleanUpPeriodMs,
    defaultText: `${defaultSettings.legacyTokenCleanUpPeriodMs / hourMs}h`,
  }),
  clusterSigningCertFile: text('the authority that signs the certificates users ask for', { placeholder: 'FILE', default: '' }),
  clusterSigningKeyFile: text('its private key', { placeholder: 'FILE', default: '' }),
  clusterSigningDuration: duration('how long such certificates last', {
    default: defaultSettings.signingDurationMs,
    defaultText: `${defaultSettings.signingDurationMs / hourMs}h`,
  }),
  ...signerOptions({
    clusterSigningKubeletServing: 'kubelet-serving',
    clusterSigningKubeletClient: 'kube-apiserver-client-kubelet',
    clusterSigningKubeApiserverClient: 'kube-apiserver-client',
    clusterSigningLegacyUnknown: 'legacy-unknown',
  }),
  ...nodeRangeOptions,

  nodeMonitorPeriod: duration('how often the health of nodes is checked', { default: 5000, defaultText: '5s' }),
  nodeMonitorGracePeriod: duration('how long a node may be unresponsive before it is marked unhealthy', {
    default: 50_000,
    defaultText: '50s',
  }),
  nodeStartupGracePeriod: duration('how long a starting node may be unresponsive before it is marked unhealthy', {
    default: 60_000,
    defaultText: '1m',
  }),
  nodeEvictionRate: decimal('nodes a second that are cleared of pods when a zone is well', { default: defaultSettings.nodeEvictionRate }),
  secondaryNodeEvictionRate: decimal('the same when a large zone is not well', { default: defaultSettings.secondaryNodeEvictionRate }),
  unhealthyZoneThreshold: decimal('the share of nodes that must be silent for a zone not to be well', {
    default: defaultSettings.unhealthyZoneThreshold,
  }),
  largeClusterSizeThreshold: wholeNumber('more nodes than this are a large zone', { default: defaultSettings.largeClusterSizeThreshold }),

  terminatedPodGcThreshold: wholeNumber('how many finished pods are kept', { default: defaultSettings.terminatedPodGcThreshold }),
  verticalPodAutoscaler: onOff('run the vertical pod autoscaler, and install its kinds (autoscaling.k8s.io)', { default: false }),
  storage: onOff("have a default storage class of directories on our kubelets' nodes, and do for CSI drivers what sidecars would", {
    default: true,
  }),
  disableForceDetachOnTimeout: onOff('leave volumes on nodes that do not answer until they are out of service', { default: false }),
  enableGarbageCollector: onOff('remove what has lost its owners', { default: true }),
  maxEndpointsPerSlice: wholeNumber('how many endpoints a slice holds', { default: defaultSettings.maxEndpointsPerSlice }),
  mirroringMaxEndpointsPerSubset: wholeNumber('how many endpoints of a subset are mirrored', {
    default: defaultSettings.mirroringMaxEndpointsPerSubset,
  }),
  endpointUpdatesBatchPeriod: duration('gather changes of pods this long before endpoints change', { default: 0, defaultText: '0s' }),
  endpointsliceUpdatesBatchPeriod: duration('the same for slices', { default: 0, defaultText: '0s' }),
  mirroringEndpointsliceUpdatesBatchPeriod: duration('the same for mirrored slices', { default: 0, defaultText: '0s' }),
  horizontalPodAutoscalerSyncPeriod: duration('how often autoscalers look at their metrics', { default: 15_000, defaultText: '15s' }),
  horizontalPodAutoscalerDownscaleStabilization: duration('how long a high recommendation keeps a target from getting smaller', {
    default: 300_000,
    defaultText: '5m',
  }),
  horizontalPodAutoscalerTolerance: decimal('by how much usage may differ from the target', { default: 0.1 }),
  horizontalPodAutoscalerCpuInitializationPeriod: duration("how long a pod's use of CPU may be that of its start", {
    default: 300_000,
    defaultText: '5m',
  }),
  horizontalPodAutoscalerInitialReadinessDelay: duration('how long after its start a pod may become ready for the first time', {
    default: 30_000,
    defaultText: '30s',
  }),
  horizontalPodAutoscalerUseRestClients: onOff('take measurements from the metrics APIs; without, from Heapster', { default: true }),
  namespaceSyncPeriod: duration('how often every namespace is reconciled', { default: 300_000, defaultText: '5m' }),
  resourceQuotaSyncPeriod: duration('how often all quotas are counted anew', { default: 300_000, defaultText: '5m' }),

  ...concurrencyOptions({
    concurrentDeploymentSyncs: ['deployments', 5],
    concurrentReplicasetSyncs: ['replica sets', 5],
    concurrentRcSyncs: ['replication controllers', 5],
    concurrentStatefulsetSyncs: ['stateful sets', 5],
    concurrentDaemonsetSyncs: ['daemon sets', 2],
    concurrentJobSyncs: ['jobs', 5],
    concurrentCronJobSyncs: ['cron jobs', 5],
    concurrentTtlAfterFinishedSyncs: ['finished jobs', 5],
    concurrentEndpointSyncs: ["services' endpoints", 5],
    concurrentServiceEndpointSyncs: ["services' endpoint slices", 5],
    mirroringConcurrentServiceEndpointSyncs: ['mirrored endpoints', 5],
    concurrentNamespaceSyncs: ['namespaces', 10],
    concurrentResourceQuotaSyncs: ['quotas', 5],
    concurrentServiceaccountTokenSyncs: ['tokens in secrets', 5],
    concurrentHorizontalPodAutoscalerSyncs: ['autoscalers', 5],
    concurrentEphemeralvolumeSyncs: ['pods with ephemeral volumes', 5],
    concurrentGcSyncs: ['objects without owners', 20],
  }),

  featureGates: list('switch features on or off (A=true,B=false)', { placeholder: 'LIST', default: [], check: checkFeatureGate }),
  ...versionOptions,
  ...logOptions,
})

export type ControllerManagerFlags = OptionValues<typeof controllerManagerOptions>

function concurrencyOptions<Name extends string>(
  named: Record<Name, readonly [what: string, count: number]>,
): Record<Name, OptionDeclaration<number>> {
  const entries = Object.entries<readonly [string, number]>(named)
  return Object.fromEntries(
    entries.map(([name, [what, count]]) => [name, wholeNumber(`how many ${what} are worked on at once`, { default: count })]),
  ) as Record<Name, OptionDeclaration<number>>
}

function signerOptions<Name extends string>(
  named: Record<Name, string>,
): Record<`${Name}CertFile` | `${Name}KeyFile`, OptionDeclaration<string>> {
  const file = (help: string) => text(help, { placeholder: 'FILE', default: '' })
  const entries = Object.entries<string>(named).flatMap(([name, signer]) => [
    [`${name}CertFile`, file(`the authority of kubernetes.io/${signer} alone`)] as const,
    [`${name}KeyFile`, file('its private key')] as const,
  ])
  return Object.fromEntries(entries) as Record<`${Name}CertFile` | `${Name}KeyFile`, OptionDeclaration<string>>
}

/**
 * Flags of upstream's that need no counterpart here, so that its command lines work as they are: requests are not throttled on this
 * side, nobody is let in by the health port, and the controllers that some of them are about do not exist yet.
 */
export const managerFlagsWithoutEffect = flagsWithoutEffect(
  'allow-metric-labels allow-metric-labels-manifest attach-detach-reconcile-sync-period authentication-kubeconfig',
  'authentication-skip-lookup authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure',
  'authorization-always-allow-paths authorization-kubeconfig authorization-webhook-cache-authorized-ttl',
  'authorization-webhook-cache-unauthorized-ttl cert-dir cidr-allocator-type client-ca-file cloud-config cloud-provider',
  'concurrent-device-taint-eviction-syncs',
  'concurrent-resourceclaim-syncs',
  'concurrent-service-syncs concurrent-validating-admission-policy-status-syncs configure-cloud-routes contention-profiling',
  'controller-shutdown-timeout controller-start-interval disable-attach-detach-reconcile-sync',
  'disable-http2-serving disabled-metrics enable-dynamic-provisioning',
  'enable-hostpath-provisioner enable-leader-migration external-cloud-volume-plugin flex-volume-plugin-dir',
  'http2-max-streams-per-connection kube-api-burst kube-api-content-type kube-api-qps',
  'leader-elect-resource-lock leader-migration-config log-flush-frequency log-json-info-buffer-size log-json-split-stream',
  'log-text-info-buffer-size log-text-split-stream logging-format min-resync-period',
  'permit-address-sharing permit-port-sharing profiling pv-recycler-increment-timeout-nfs',
  'pv-recycler-minimum-timeout-hostpath pv-recycler-minimum-timeout-nfs pv-recycler-pod-template-filepath-hostpath',
  'pv-recycler-pod-template-filepath-nfs pv-recycler-timeout-increment-hostpath pvclaimbinder-sync-period',
  'requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers',
  'requestheader-uid-headers requestheader-username-headers route-reconciliation-period show-hidden-metrics-for-version',
  'tls-cipher-suites tls-curve-preferences tls-min-version tls-sni-cert-key v vmodule',
)
