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
  enableSystemLogHandler: boolean
  enableSystemLogQuery: boolean
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
  cpuManagerPolicy: string
  cpuManagerPolicyOptions: Record<string, string>
  cpuManagerReconcilePeriod: string
  reservedSystemCPUs: string
  memoryManagerPolicy: string
  reservedMemory: { numaNode: number; limits: Record<string, string> }[]
  topologyManagerPolicy: string
  topologyManagerScope: string
  topologyManagerPolicyOptions: Record<string, string>
  allowedUnsafeSysctls: string[]
  podPidsLimit: number
  memorySwap: { swapBehavior: string }
  /** A machine that swaps is no node. */
  failSwapOn: boolean
  /** Runs static pods, and ends when they run. */
  runOnce: boolean
  enforceNodeAllocatable: string[]
  systemReservedCgroup: string
  kubeReservedCgroup: string
  shutdownGracePeriod: string
  shutdownGracePeriodCriticalPods: string
  shutdownGracePeriodByPodPriority: { priority: number; shutdownGracePeriodSeconds: number }[]
  /** How willing the kernel shall be to kill the agent itself; 0 leaves it as it is. */
  oomScoreAdj: number
  featureGates: Record<string, boolean>
  /** With the feature MemoryQoS: see `cgroups/memory-qos.ts`. */
  memoryThrottlingFactor: number
  memoryReservationPolicy: string
  seccompDefault: boolean
  serializeImagePulls: boolean
  /** With pulls that are not one after the other; 0 is as many as are asked for. */
  maxParallelImagePulls: number
  /** 0 is no limit. */
  registryPullQPS: number
  registryBurst: number
  imagePullCredentialsVerificationPolicy: string
  preloadedImagesVerificationAllowlist: string[]
  containerLogMaxWorkers: number
  nodeStatusUpdateFrequency: string
  nodeStatusReportFrequency: string
  nodeLeaseDurationSeconds: number
  nodeStatusMaxImages: number
  podsPerCore: number
  /** Limits of CPU are enforced. */
  cpuCFSQuota: boolean
  /** Without, nobody gets logs of containers or talks to them. */
  enableDebuggingHandlers: boolean
  /** Thresholds that the file leaves out are the usual ones, instead of none. */
  mergeDefaultEvictionSettings: boolean
  /** Events beyond wait for their turn; 0 is no limit. */
  eventRecordQPS: number
  eventBurst: number
  /** Exec, attach and port-forward in which nothing is said for so long end; 0 is never. */
  streamingConnectionIdleTimeout: string
  tlsMinVersion: string
  tlsCipherSuites: string[]
  /** A machine whose kernel is set up otherwise than the kubelet wants is no node. */
  protectKernelDefaults: boolean
  /** A machine with cgroup v1 is no node. Upstream does not take one unless told to. */
  failCgroupV1: boolean
  /** Containers that end again and again are started again after this long at the latest. */
  crashLoopBackOff: { maxContainerRestartPeriod: string }
  registerNode: boolean
  registerWithTaints: V1Taint[]
  providerID: string
  /** What the kubelet serves with is signed by the cluster. */
  serverTLSBootstrap: boolean
  /** The client certificate is renewed in time. */
  rotateCertificates: boolean
  containerRuntimeEndpoint: string
  /** Where images are fetched and listed; empty: at the runtime's. */
  imageServiceEndpoint: string
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
  enableSystemLogHandler: true,
  enableSystemLogQuery: false,
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
  cpuManagerPolicy: 'none',
  cpuManagerPolicyOptions: {},
  cpuManagerReconcilePeriod: '10s',
  reservedSystemCPUs: '',
  memoryManagerPolicy: 'None',
  reservedMemory: [],
  topologyManagerPolicy: 'none',
  topologyManagerScope: 'container',
  topologyManagerPolicyOptions: {},
  allowedUnsafeSysctls: [],
  podPidsLimit: -1,
  memorySwap: { swapBehavior: 'NoSwap' },
  failSwapOn: true,
  runOnce: false,
  enforceNodeAllocatable: ['pods'],
  systemReservedCgroup: '',
  kubeReservedCgroup: '',
  shutdownGracePeriod: '0s',
  shutdownGracePeriodCriticalPods: '0s',
  shutdownGracePeriodByPodPriority: [],
  oomScoreAdj: -999,
  featureGates: {},
  memoryThrottlingFactor: 0.9,
  memoryReservationPolicy: 'None',
  seccompDefault: false,
  serializeImagePulls: true,
  maxParallelImagePulls: 0,
  registryPullQPS: 5,
  registryBurst: 10,
  imagePullCredentialsVerificationPolicy: 'NeverVerifyPreloadedImages',
  preloadedImagesVerificationAllowlist: [],
  containerLogMaxWorkers: 1,
  nodeStatusUpdateFrequency: '10s',
  nodeStatusReportFrequency: '5m0s',
  nodeLeaseDurationSeconds: 40,
  nodeStatusMaxImages: 50,
  podsPerCore: 0,
  cpuCFSQuota: true,
  enableDebuggingHandlers: true,
  mergeDefaultEvictionSettings: false,
  eventRecordQPS: 50,
  eventBurst: 100,
  streamingConnectionIdleTimeout: '4h0m0s',
  tlsMinVersion: '',
  tlsCipherSuites: [],
  protectKernelDefaults: false,
  failCgroupV1: false,
  crashLoopBackOff: { maxContainerRestartPeriod: '5m0s' },
  registerNode: true,
  registerWithTaints: [],
  providerID: '',
  serverTLSBootstrap: false,
  rotateCertificates: false,
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  imageServiceEndpoint: '',
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

/** Feature gates that change something. */
export const effectiveKubeletGates: ReadonlySet<string> = new Set(['GitRepoVolumeDriver', 'MemoryQoS'])

/** Settings that a file may hold, and that change nothing here. */
export const ignoredFields: readonly string[] = (
  'syncFrequency tlsCurvePreferences enableContentionProfiling volumeStatsAggPeriod kubeletCgroups systemCgroups ' +
  'cgroupDriver singleProcessOOMKill qosReserved hairpinMode cpuCFSQuotaPeriod maxOpenFiles contentType kubeAPIQPS kubeAPIBurst ' +
  'enableControllerAttachDetach makeIPTablesUtilChains iptablesMasqueradeBit iptablesDropBit configMapAndSecretChangeDetectionStrategy ' +
  'showHiddenMetricsForVersion volumePluginDir kernelMemcgNotification logging enableProfilingHandler enableDebugFlagsHandler tracing ' +
  'localStorageCapacityIsolation userNamespaces'
).split(' ')

/**
 * For nodes on a machine that people use for other things as well: its disk may be nearly full for reasons of their own. A share of
 * a large disk is much room, and images that were loaded by hand are not to be fetched anywhere.
 */
export const sharedMachineConfiguration = {
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1Gi', 'nodefs.inodesFree': '1%', 'imagefs.available': '1Gi' },
  imageGCHighThresholdPercent: 100,
  // What else runs in this process, or is started by it, is nobody's to protect.
  oomScoreAdj: 0,
  failSwapOn: false,
  // Nobody's registry is far from being asked too often by one machine, and all its pods may come at once.
  registryPullQPS: 0,
  eventRecordQPS: 0,
  // One pod that forks without end shall not stop everything else.
  podPidsLimit: 8192,
} satisfies Partial<KubeletConfiguration>
