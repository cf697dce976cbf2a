import { annotatedAddonResizer } from '#controllers/addon-resizer/addon-resizer.ts'
import { admissionPolicyStatusController } from '#controllers/admission-policy-status/admission-policy-status-controller.ts'
import { attachDetachController } from '#controllers/attach-detach/attach-detach-controller.ts'
import { bootstrapSigner } from '#controllers/bootstrap-signer/bootstrap-signer.ts'
import { csrApprovingController } from '#controllers/certificates/csr-approving-controller.ts'
import { csrCleaner } from '#controllers/certificates/csr-cleaner.ts'
import { csrSigningController } from '#controllers/certificates/csr-signing-controller.ts'
import { annotatedProportionalAutoscalers } from '#controllers/cluster-proportional-autoscaler/cluster-proportional-autoscaler.ts'
import { clusterTrustBundlePublisher } from '#controllers/cluster-trust-bundle/cluster-trust-bundle-publisher.ts'
import { clusterRoleAggregationController } from '#controllers/clusterrole-aggregation/clusterrole-aggregation-controller.ts'
import { cronJobController } from '#controllers/cronjob/cronjob-controller.ts'
import { daemonSetController } from '#controllers/daemonset/daemonset-controller.ts'
import { deploymentController } from '#controllers/deployment/deployment-controller.ts'
import { configuredDescheduler } from '#controllers/descheduler/descheduler.ts'
import { deviceTaintEvictionController } from '#controllers/device-taint-eviction/device-taint-eviction-controller.ts'
import { disruptionController } from '#controllers/disruption/disruption-controller.ts'
import { endpointsController } from '#controllers/endpoints/endpoints-controller.ts'
import { endpointSliceController } from '#controllers/endpointslice/endpointslice-controller.ts'
import { endpointSliceMirroringController } from '#controllers/endpointslice-mirroring/endpointslice-mirroring-controller.ts'
import { ephemeralVolumeController } from '#controllers/ephemeral-volume/ephemeral-volume-controller.ts'
import { garbageCollector } from '#controllers/garbage-collector/garbage-collector.ts'
import { horizontalPodAutoscalerController } from '#controllers/horizontal-pod-autoscaler/horizontal-pod-autoscaler-controller.ts'
import { jobController } from '#controllers/job/job-controller.ts'
import { legacyTokenCleaner } from '#controllers/legacy-token-cleaner/legacy-token-cleaner.ts'
import { namespaceController } from '#controllers/namespace/namespace-controller.ts'
import { nodeIpamController } from '#controllers/node-ipam/node-ipam-controller.ts'
import { nodeLifecycleController } from '#controllers/node-lifecycle/node-lifecycle-controller.ts'
import { persistentVolumeBinder } from '#controllers/persistent-volume-binder/persistent-volume-binder.ts'
import { persistentVolumeExpander } from '#controllers/persistent-volume-expander/persistent-volume-expander.ts'
import { podCertificateRequestCleaner } from '#controllers/pod-certificate-request-cleaner/pod-certificate-request-cleaner.ts'
import { podGarbageCollector } from '#controllers/pod-gc/pod-gc.ts'
import { podGroupProtectionController } from '#controllers/podgroup-protection/podgroup-protection-controller.ts'
import { replicaSetController } from '#controllers/replicaset/replicaset-controller.ts'
import { replicationController } from '#controllers/replication/replication-controller.ts'
import { resourcePoolStatusController } from '#controllers/resource-pool-status/resource-pool-status-controller.ts'
import { resourceClaimController } from '#controllers/resourceclaim/resourceclaim-controller.ts'
import { resourceQuotaController } from '#controllers/resourcequota/resourcequota-controller.ts'
import { rootCaPublisher } from '#controllers/root-ca/root-ca-publisher.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { selinuxWarningController } from '#controllers/selinux-warning/selinux-warning-controller.ts'
import { serviceCidrController } from '#controllers/service-cidr/service-cidr-controller.ts'
import { serviceAccountController } from '#controllers/serviceaccount/serviceaccount-controller.ts'
import { serviceAccountTokenController } from '#controllers/serviceaccount-token/serviceaccount-token-controller.ts'
import { statefulSetController } from '#controllers/statefulset/statefulset-controller.ts'
import { attributesClassProtectionController } from '#controllers/storage-protection/attributes-class-protection-controller.ts'
import { claimProtectionController } from '#controllers/storage-protection/claim-protection-controller.ts'
import { volumeProtectionController } from '#controllers/storage-protection/volume-protection-controller.ts'
import { storageVersionGc } from '#controllers/storage-version-gc/storage-version-gc.ts'
import { storageVersionMigrator } from '#controllers/storage-version-migrator/storage-version-migrator.ts'
import { taintEvictionController } from '#controllers/taint-eviction/taint-eviction-controller.ts'
import { tokenCleaner } from '#controllers/token-cleaner/token-cleaner.ts'
import { ttlController } from '#controllers/ttl/ttl-controller.ts'
import { ttlAfterFinishedController } from '#controllers/ttl-after-finished/ttl-after-finished-controller.ts'

/** Every controller, in the order in which they start. */
export const controllers: readonly Controller[] = [
  serviceAccountTokenController,
  serviceAccountController,
  rootCaPublisher,
  clusterRoleAggregationController,
  endpointsController,
  endpointSliceController,
  endpointSliceMirroringController,
  replicationController,
  podGarbageCollector,
  resourceQuotaController,
  namespaceController,
  garbageCollector,
  daemonSetController,
  jobController,
  statefulSetController,
  cronJobController,
  replicaSetController,
  deploymentController,
  horizontalPodAutoscalerController,
  disruptionController,
  csrSigningController,
  csrApprovingController,
  csrCleaner,
  podCertificateRequestCleaner,
  clusterTrustBundlePublisher,
  ttlController,
  bootstrapSigner,
  ttlAfterFinishedController,
  tokenCleaner,
  nodeIpamController,
  nodeLifecycleController,
  persistentVolumeBinder,
  attachDetachController,
  persistentVolumeExpander,
  claimProtectionController,
  volumeProtectionController,
  attributesClassProtectionController,
  ephemeralVolumeController,
  selinuxWarningController,
  taintEvictionController,
  deviceTaintEvictionController,
  storageVersionGc,
  storageVersionMigrator,
  legacyTokenCleaner,
  serviceCidrController,
  resourceClaimController,
  resourcePoolStatusController,
  podGroupProtectionController,
  admissionPolicyStatusController,
  annotatedAddonResizer,
  annotatedProportionalAutoscalers,
  configuredDescheduler,
]
