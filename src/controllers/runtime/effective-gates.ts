/** The feature gates that change what controllers do. */
export const effectiveControllerGates: ReadonlySet<string> = new Set([
  ...['APIServerIdentity', 'ClusterTrustBundle', 'DRAAdminAccess', 'DRADeviceTaintRules', 'DRADeviceTaints', 'DRAResourcePoolStatus'],
  ...['DeploymentReplicaSetTerminatingReplicas', 'DynamicResourceAllocation', 'GenericWorkload', 'HPAScaleToZero'],
  ...['MaxUnavailableStatefulSet', 'PersistentVolumeClaimUnusedSinceTime', 'PodCertificateRequest', 'SELinuxChangePolicy'],
  ...['StorageVersionAPI', 'StorageVersionMigrator', 'VolumeAttributesClass'],
])
