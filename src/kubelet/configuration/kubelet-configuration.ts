import type { V1Taint } from '#api/core/v1/types.gen.ts'

/** What a kubelet can be told, by the names of its configuration file (kubelet.config.k8s.io/v1beta1). What is not heeded is not here. */
export type KubeletConfiguration = {
  staticPodPath: string
  staticPodURL: string
  staticPodURLHeader: Record<string, string[]>
  podLogsDir: string
  containerLogMaxSize: string
  containerLogMaxFiles: number
  containerLogMonitorInterval: string
  fileCheckFrequency: string
  httpCheckFrequency: string
  enableServer: boolean
  address: string
  port: number
  readOnlyPort: number
  healthzPort: number
  healthzBindAddress: string
  tlsCertFile: string
  tlsPrivateKeyFile: string
  authentication: {
    x509: { clientCAFile?: string }
    webhook: { enabled: boolean; cacheTTL: string }
    anonymous: { enabled: boolean }
  }
  authorization: {
    mode: 'AlwaysAllow' | 'Webhook'
    webhook: { cacheAuthorizedTTL: string; cacheUnauthorizedTTL: string }
  }
  clusterDomain: string
  clusterDNS: string[]
  resolvConf: string
  maxPods: number
  podCIDR: string
  cgroupRoot: string
  cgroupsPerQOS: boolean
  systemReserved: Record<string, string>
  kubeReserved: Record<string, string>
  seccompDefault: boolean
  serializeImagePulls: boolean
  registerNode: boolean
  registerWithTaints: V1Taint[]
  providerID: string
  /** The client certificate is renewed in time. */
  rotateCertificates: boolean
  containerRuntimeEndpoint: string
  runtimeRequestTimeout: string
  evictionHard: Record<string, string>
  evictionSoft: Record<string, string>
  evictionSoftGracePeriod: Record<string, string>
  evictionMinimumReclaim: Record<string, string>
  evictionPressureTransitionPeriod: string
  evictionMaxPodGracePeriod: number
  imageMinimumGCAge: string
  imageMaximumGCAge: string
  imageGCHighThresholdPercent: number
  imageGCLowThresholdPercent: number
}

export const defaultKubeletConfiguration = (): KubeletConfiguration => ({
  staticPodPath: '',
  staticPodURL: '',
  staticPodURLHeader: {},
  podLogsDir: '/var/log/pods',
  containerLogMaxSize: '10Mi',
  containerLogMaxFiles: 5,
  containerLogMonitorInterval: '10s',
  fileCheckFrequency: '20s',
  httpCheckFrequency: '20s',
  enableServer: true,
  address: '0.0.0.0',
  port: 10_250,
  readOnlyPort: 0,
  healthzPort: 10_248,
  healthzBindAddress: '127.0.0.1',
  tlsCertFile: '',
  tlsPrivateKeyFile: '',
  authentication: { x509: {}, webhook: { enabled: true, cacheTTL: '2m0s' }, anonymous: { enabled: false } },
  authorization: { mode: 'Webhook', webhook: { cacheAuthorizedTTL: '5m0s', cacheUnauthorizedTTL: '30s' } },
  clusterDomain: '',
  clusterDNS: [],
  resolvConf: '/etc/resolv.conf',
  maxPods: 110,
  podCIDR: '',
  cgroupRoot: '',
  cgroupsPerQOS: true,
  systemReserved: {},
  kubeReserved: {},
  seccompDefault: false,
  serializeImagePulls: true,
  registerNode: true,
  registerWithTaints: [],
  providerID: '',
  rotateCertificates: false,
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  runtimeRequestTimeout: '2m0s',
  evictionHard: {
    'memory.available': '100Mi',
    'nodefs.available': '10%',
    'nodefs.inodesFree': '5%',
    'imagefs.available': '15%',
    'imagefs.inodesFree': '5%',
  },
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
  evictionPressureTransitionPeriod: '5m0s',
  evictionMaxPodGracePeriod: 0,
  imageMinimumGCAge: '2m0s',
  imageMaximumGCAge: '0s',
  imageGCHighThresholdPercent: 85,
  imageGCLowThresholdPercent: 80,
})

/** Settings that a file may hold, and that change nothing here. */
export const ignoredFields: readonly string[] = (
  'syncFrequency tlsCipherSuites tlsCurvePreferences tlsMinVersion serverTLSBootstrap registryPullQPS registryBurst ' +
  'imagePullCredentialsVerificationPolicy preloadedImagesVerificationAllowlist eventRecordQPS eventBurst enableDebuggingHandlers ' +
  'enableContentionProfiling oomScoreAdj streamingConnectionIdleTimeout nodeStatusUpdateFrequency nodeStatusReportFrequency ' +
  'nodeLeaseDurationSeconds ' +
  'volumeStatsAggPeriod kubeletCgroups systemCgroups cgroupDriver cpuManagerPolicy singleProcessOOMKill cpuManagerPolicyOptions ' +
  'cpuManagerReconcilePeriod memoryManagerPolicy topologyManagerPolicy topologyManagerScope topologyManagerPolicyOptions qosReserved ' +
  'hairpinMode podPidsLimit runOnce cpuCFSQuota cpuCFSQuotaPeriod nodeStatusMaxImages maxOpenFiles contentType kubeAPIQPS kubeAPIBurst ' +
  'maxParallelImagePulls ' +
  'mergeDefaultEvictionSettings podsPerCore enableControllerAttachDetach protectKernelDefaults ' +
  'makeIPTablesUtilChains iptablesMasqueradeBit iptablesDropBit featureGates failSwapOn memorySwap ' +
  'containerLogMaxWorkers configMapAndSecretChangeDetectionStrategy ' +
  'reservedSystemCPUs showHiddenMetricsForVersion systemReservedCgroup kubeReservedCgroup enforceNodeAllocatable allowedUnsafeSysctls ' +
  'volumePluginDir kernelMemcgNotification logging enableSystemLogHandler enableSystemLogQuery shutdownGracePeriod ' +
  'shutdownGracePeriodCriticalPods shutdownGracePeriodByPodPriority crashLoopBackOff reservedMemory enableProfilingHandler ' +
  'enableDebugFlagsHandler memoryThrottlingFactor memoryReservationPolicy tracing localStorageCapacityIsolation imageServiceEndpoint ' +
  'failCgroupV1 userNamespaces'
).split(' ')

/**
 * For nodes on a machine that people use for other things as well: its disk may be nearly full for reasons of their own. A share of
 * a large disk is much room, and images that were loaded by hand are not to be fetched anywhere.
 */
export const sharedMachineConfiguration = {
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1Gi', 'nodefs.inodesFree': '1%', 'imagefs.available': '1Gi' },
  imageGCHighThresholdPercent: 100,
} satisfies Partial<KubeletConfiguration>
