/** The switches of v1.36 and where they stand unless somebody moves them. */
import { aggregateMessages } from './aggregate.ts'
import { quoted } from './check.ts'

type Stage = 'GA' | 'Beta' | 'Alpha' | 'Deprecated'
type Gate = { stage: Stage; isOn: boolean; isLocked: boolean }

const table: readonly (Gate & { names: string })[] = [
  {
    stage: 'GA',
    isOn: true,
    isLocked: false,
    names: `
      AllowServiceExternalIPs CustomCPUCFSQuotaPeriod DRAPrioritizedList MutatingAdmissionPolicy`,
  },
  {
    stage: 'GA',
    isOn: true,
    isLocked: true,
    names: `
      APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors AuthorizeWithSelectors
      BtreeWatchCache CPUManagerPolicyOptions CRDValidationRatcheting CSIServiceAccountTokenSecrets ConsistentListFromCache
      CustomResourceFieldSelectors DRAAdminAccess DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation
      ExecProbeTimeout ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume InPlacePodVerticalScaling JobBackoffLimitPerIndex
      JobManagedBy JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI
      KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing LogarithmicScaleDown MatchLabelKeysInPodAffinity
      MultiCIDRServiceAllocator MutableCSINodeAllocatableCount NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread NodeLogQuery
      NodeSwap OrderedNamespaceDeletion PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodObservedGenerationTracking
      PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
      RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation ResilientWatchCacheInitialization RetryGenerateName
      SELinuxChangePolicy SELinuxMountReadWriteOncePod SchedulerQueueingHints SeparateTaintEvictionController ServiceAccountTokenJTI
      ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo SidecarContainers
      StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
      SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport VolumeAttributesClass WinDSR
      WinOverlay`,
  },
  {
    stage: 'Beta',
    isOn: true,
    isLocked: false,
    names: `
      APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO AuthorizePodWebsocketUpgradeCreatePermission
      CPUManagerPolicyBetaOptions CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
      ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation ContainerCheckpoint ContainerRestartRules
      ContextualLogging DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices
      DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout DeclarativeValidationBeta
      DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown
      GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride InOrderInformersBatchProcess
      InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax
      KubeletEnsureSecretPulledImages KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
      LoggingBetaOptions MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
      MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs NodeDeclaredFeatures
      NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PLEGOnDemandRelist PodDeletionCost PodLevelResources
      PodReadyToStartContainersCondition PodTopologyLabelsAdmission PortForwardWebsockets PreventStaticPodAPIReferences
      RelaxedServiceNameValidation ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile RemoteRequestHeaderUID
      ResourceHealthStatus ResourceHealthStatusMessage RestartAllContainersOnContainerExits RotateKubeletServerCertificate
      SchedulerAsyncPreemption SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
      StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
      StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation
      StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
      TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
      UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
      WatchCacheInitializationPostStartHook WatchList WatchListClient WindowsGracefulNodeShutdown`,
  },
  {
    stage: 'Beta',
    isOn: false,
    isLocked: false,
    names: `
      AllBeta ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode CoordinatedLeaderElection DRADeviceTaintRules
      LocalStorageCapacityIsolationFSQuotaMonitoring MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls
      StorageVersionMigrator`,
  },
  {
    stage: 'Alpha',
    isOn: false,
    isLocked: false,
    names: `
      APIServingWithRoutine AllAlpha AllowUnsafeMalformedObjectDeletion CBORServingAndStorage CPUManagerPolicyAlphaOptions
      CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR CloudControllerManagerWatchBasedRoutesReconciliation
      CloudControllerManagerWebhook ContainerStopSignals ControllerManagerReleaseLeaderElectionLockOnExit CrossNamespaceVolumeDataSource
      DRAListTypeAttributes DRANodeAllocatableResources DRAResourcePoolStatus DRAWorkloadResourceClaims EventedPLEG GangScheduling
      GenericWorkload HPAScaleToZero ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
      InPlacePodVerticalScalingExclusiveMemory KubeletInUserNamespace LoggingAlphaOptions ManifestBasedAdmissionControlConfig MemoryQoS
      MutablePVNodeAffinity NativeHistograms PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI PodLevelResourceManagers
      PodLogsQuerySplitStreams PodsAPI QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi ShardedListAndWatch
      StorageCapacityScoring StorageVersionAPI TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
      TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeLimitScaling WindowsCPUAndMemoryAffinity
      WorkloadAwarePreemption WorkloadWithJob`,
  },
  {
    stage: 'Deprecated',
    isOn: true,
    isLocked: false,
    names: `
      DisableCPUQuotaWithExclusiveCPUs KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping StorageNamespaceIndex`,
  },
  {
    stage: 'Deprecated',
    isOn: true,
    isLocked: true,
    names: `
      AggregatedDiscoveryRemoveBetaType DisableNodeKubeProxyVersion`,
  },
  {
    stage: 'Deprecated',
    isOn: false,
    isLocked: false,
    names: `
      AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests ChangeContainerStatusOnKubeletRestart
      DeclarativeValidationTakeover KMSv1 KubeletRegistrationGetOnExistsOnly WindowsHostNetwork`,
  },
  // Upstream has taken the first one out and locked the second; here, who asks for them still has them.
  { stage: 'Deprecated', isOn: false, isLocked: false, names: 'DynamicKubeletConfig GitRepoVolumeDriver' },
  {
    stage: 'Deprecated',
    isOn: false,
    isLocked: true,
    names: `
      AllowOverwriteTerminationGracePeriodSeconds SeparateCacheWatchRPC`,
  },
]

const gates = new Map<string, Gate>()
for (const { names, ...gate } of table) for (const name of names.trim().split(/\s+/)) gates.set(name, gate)

/** Which gates are on in one server. */
export class FeatureGates {
  readonly #on = new Map<string, boolean>()

  /** `A=true,B=false`, and `AllAlpha`, `AllBeta` for all of a stage that are not named. Throws an Error in upstream's words. */
  constructor(overrides = '') {
    const wanted = parseOverrides(overrides)
    for (const [name, gate] of gates) {
      const stage = gate.stage === 'Alpha' ? wanted.get('AllAlpha') : gate.stage === 'Beta' ? wanted.get('AllBeta') : undefined
      this.#on.set(name, wanted.get(name) ?? stage ?? gate.isOn)
    }
  }

  /** Takes a method's place: safe to hand on by itself. */
  readonly isEnabled = (name: string): boolean => {
    const isOn = this.#on.get(name)
    if (isOn === undefined) throw new Error(`feature ${quoted(name)} is not registered in FeatureGates`)
    return isOn
  }

  /** All of them, by name. */
  entries(): [name: string, isOn: boolean][] {
    return [...this.#on].sort(([one], [other]) => (one < other ? -1 : 1))
  }
}

const truths: Record<string, boolean> = {
  ...Object.fromEntries(['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true])),
  ...Object.fromEntries(['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false])),
}

function parseOverrides(text: string): Map<string, boolean> {
  const wanted = new Map<string, boolean>()
  const errors: string[] = []
  for (const part of text.split(',').filter((each) => each !== '')) {
    const [given = '', value] = part.split(/=(.*)/s).map((each) => each.trim())
    // A component may be named with its gates.
    const [, component = 'kube', name = ''] = /^(?:([^:]*):)?(.*)$/s.exec(given) ?? []
    if (component !== 'kube') throw new Error(`component not registered: ${component}`)
    const isOn = value === undefined ? undefined : truths[value]
    const gate = gates.get(name)
    if (value === undefined) throw new Error(`missing bool value for ${name}`)
    if (isOn === undefined) {
      throw new Error(`invalid value of ${name}=${value}, err: strconv.ParseBool: parsing ${quoted(value)}: invalid syntax`)
    }
    if (gate === undefined && name !== 'AllAlpha' && name !== 'AllBeta') errors.push(`unrecognized feature gate: ${name}`)
    else if (gate?.isLocked && gate.isOn !== isOn) {
      errors.push(`cannot set feature gate ${name} to ${isOn}, feature is locked to ${gate.isOn}`)
    } else wanted.set(name, isOn)
  }
  if (errors.length > 0) throw new Error(aggregateMessages(errors))
  return wanted
}
