/** The kinds as clients need to know them, without the rules of the server: where each is found, and what it looks like. */
import type {
  V1MutatingAdmissionPolicy,
  V1MutatingAdmissionPolicyBinding,
  V1MutatingWebhookConfiguration,
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
  V1ValidatingWebhookConfiguration,
} from '#api/admissionregistration/v1/types.gen.ts'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import type { V1ControllerRevision, V1DaemonSet, V1Deployment, V1ReplicaSet, V1StatefulSet } from '#api/apps/v1/types.gen.ts'
import type { V1SelfSubjectReview, V1TokenReview } from '#api/authentication/v1/types.gen.ts'
import type {
  V1LocalSubjectAccessReview,
  V1SelfSubjectAccessReview,
  V1SelfSubjectRulesReview,
  V1SubjectAccessReview,
} from '#api/authorization/v1/types.gen.ts'
import type { V2HorizontalPodAutoscaler } from '#api/autoscaling/v2/types.gen.ts'
import type { V1CronJob, V1Job } from '#api/batch/v1/types.gen.ts'
import type { V1CertificateSigningRequest } from '#api/certificates/v1/types.gen.ts'
import type { V1Lease } from '#api/coordination/v1/types.gen.ts'
import type {
  V1ConfigMap,
  V1Endpoints,
  V1Event,
  V1LimitRange,
  V1Namespace,
  V1Node,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodTemplate,
  V1ReplicationController,
  V1ResourceQuota,
  V1Secret,
  V1Service,
  V1ServiceAccount,
} from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import type { V1Event as EventsV1Event } from '#api/events/v1/types.gen.ts'
import type { V1FlowSchema, V1PriorityLevelConfiguration } from '#api/flowcontrol/v1/types.gen.ts'
import type { V1Ingress, V1IngressClass, V1IPAddress, V1NetworkPolicy, V1ServiceCIDR } from '#api/networking/v1/types.gen.ts'
import type { V1RuntimeClass } from '#api/node/v1/types.gen.ts'
import type { V1PodDisruptionBudget } from '#api/policy/v1/types.gen.ts'
import type { V1ClusterRole, V1ClusterRoleBinding, V1Role, V1RoleBinding } from '#api/rbac/v1/types.gen.ts'
import type { V1DeviceClass, V1ResourceClaim, V1ResourceClaimTemplate, V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import type { V1PriorityClass } from '#api/scheduling/v1/types.gen.ts'
import type {
  V1CSIDriver,
  V1CSINode,
  V1CSIStorageCapacity,
  V1StorageClass,
  V1VolumeAttachment,
  V1VolumeAttributesClass,
} from '#api/storage/v1/types.gen.ts'

export type KindAddress = Pick<ResourceDefinition, 'group' | 'version' | 'kind' | 'plural'> & { scope?: 'Namespaced' | 'Cluster' }

/** A kind of custom resources, or any other that is not among those below. Namespaced unless said. */
export function defineKind<T extends KubernetesObject>({ scope = 'Namespaced', ...address }: KindAddress): ResourceDefinition<T> {
  return { ...address, scope, schema: '' }
}

function kind<T extends KubernetesObject>(group: string, version: string, name: string, plural: string, scope?: 'Cluster') {
  return defineKind<T>({ group, version, kind: name, plural, ...(scope === undefined ? {} : { scope }) })
}

export const MutatingAdmissionPolicy = kind<V1MutatingAdmissionPolicy>(
  'admissionregistration.k8s.io',
  'v1',
  'MutatingAdmissionPolicy',
  'mutatingadmissionpolicies',
  'Cluster',
)
export const MutatingAdmissionPolicyBinding = kind<V1MutatingAdmissionPolicyBinding>(
  'admissionregistration.k8s.io',
  'v1',
  'MutatingAdmissionPolicyBinding',
  'mutatingadmissionpolicybindings',
  'Cluster',
)
export const MutatingWebhookConfiguration = kind<V1MutatingWebhookConfiguration>(
  'admissionregistration.k8s.io',
  'v1',
  'MutatingWebhookConfiguration',
  'mutatingwebhookconfigurations',
  'Cluster',
)
export const ValidatingAdmissionPolicy = kind<V1ValidatingAdmissionPolicy>(
  'admissionregistration.k8s.io',
  'v1',
  'ValidatingAdmissionPolicy',
  'validatingadmissionpolicies',
  'Cluster',
)
export const ValidatingAdmissionPolicyBinding = kind<V1ValidatingAdmissionPolicyBinding>(
  'admissionregistration.k8s.io',
  'v1',
  'ValidatingAdmissionPolicyBinding',
  'validatingadmissionpolicybindings',
  'Cluster',
)
export const ValidatingWebhookConfiguration = kind<V1ValidatingWebhookConfiguration>(
  'admissionregistration.k8s.io',
  'v1',
  'ValidatingWebhookConfiguration',
  'validatingwebhookconfigurations',
  'Cluster',
)
export const CustomResourceDefinition = kind<V1CustomResourceDefinition>(
  'apiextensions.k8s.io',
  'v1',
  'CustomResourceDefinition',
  'customresourcedefinitions',
  'Cluster',
)
export const APIService = kind<V1APIService>('apiregistration.k8s.io', 'v1', 'APIService', 'apiservices', 'Cluster')
export const ControllerRevision = kind<V1ControllerRevision>('apps', 'v1', 'ControllerRevision', 'controllerrevisions')
export const DaemonSet = kind<V1DaemonSet>('apps', 'v1', 'DaemonSet', 'daemonsets')
export const Deployment = kind<V1Deployment>('apps', 'v1', 'Deployment', 'deployments')
export const ReplicaSet = kind<V1ReplicaSet>('apps', 'v1', 'ReplicaSet', 'replicasets')
export const StatefulSet = kind<V1StatefulSet>('apps', 'v1', 'StatefulSet', 'statefulsets')
export const SelfSubjectReview = kind<V1SelfSubjectReview>(
  'authentication.k8s.io',
  'v1',
  'SelfSubjectReview',
  'selfsubjectreviews',
  'Cluster',
)
export const TokenReview = kind<V1TokenReview>('authentication.k8s.io', 'v1', 'TokenReview', 'tokenreviews', 'Cluster')
export const LocalSubjectAccessReview = kind<V1LocalSubjectAccessReview>(
  'authorization.k8s.io',
  'v1',
  'LocalSubjectAccessReview',
  'localsubjectaccessreviews',
)
export const SelfSubjectAccessReview = kind<V1SelfSubjectAccessReview>(
  'authorization.k8s.io',
  'v1',
  'SelfSubjectAccessReview',
  'selfsubjectaccessreviews',
  'Cluster',
)
export const SelfSubjectRulesReview = kind<V1SelfSubjectRulesReview>(
  'authorization.k8s.io',
  'v1',
  'SelfSubjectRulesReview',
  'selfsubjectrulesreviews',
  'Cluster',
)
export const SubjectAccessReview = kind<V1SubjectAccessReview>(
  'authorization.k8s.io',
  'v1',
  'SubjectAccessReview',
  'subjectaccessreviews',
  'Cluster',
)
export const HorizontalPodAutoscaler = kind<V2HorizontalPodAutoscaler>(
  'autoscaling',
  'v2',
  'HorizontalPodAutoscaler',
  'horizontalpodautoscalers',
)
export const CronJob = kind<V1CronJob>('batch', 'v1', 'CronJob', 'cronjobs')
export const Job = kind<V1Job>('batch', 'v1', 'Job', 'jobs')
export const CertificateSigningRequest = kind<V1CertificateSigningRequest>(
  'certificates.k8s.io',
  'v1',
  'CertificateSigningRequest',
  'certificatesigningrequests',
  'Cluster',
)
export const Lease = kind<V1Lease>('coordination.k8s.io', 'v1', 'Lease', 'leases')
export const ConfigMap = kind<V1ConfigMap>('', 'v1', 'ConfigMap', 'configmaps')
export const Endpoints = kind<V1Endpoints>('', 'v1', 'Endpoints', 'endpoints')
export const Event = kind<V1Event>('', 'v1', 'Event', 'events')
export const LimitRange = kind<V1LimitRange>('', 'v1', 'LimitRange', 'limitranges')
export const Namespace = kind<V1Namespace>('', 'v1', 'Namespace', 'namespaces', 'Cluster')
export const Node = kind<V1Node>('', 'v1', 'Node', 'nodes', 'Cluster')
export const PersistentVolume = kind<V1PersistentVolume>('', 'v1', 'PersistentVolume', 'persistentvolumes', 'Cluster')
export const PersistentVolumeClaim = kind<V1PersistentVolumeClaim>('', 'v1', 'PersistentVolumeClaim', 'persistentvolumeclaims')
export const Pod = kind<V1Pod>('', 'v1', 'Pod', 'pods')
export const PodTemplate = kind<V1PodTemplate>('', 'v1', 'PodTemplate', 'podtemplates')
export const ReplicationController = kind<V1ReplicationController>('', 'v1', 'ReplicationController', 'replicationcontrollers')
export const ResourceQuota = kind<V1ResourceQuota>('', 'v1', 'ResourceQuota', 'resourcequotas')
export const Secret = kind<V1Secret>('', 'v1', 'Secret', 'secrets')
export const Service = kind<V1Service>('', 'v1', 'Service', 'services')
export const ServiceAccount = kind<V1ServiceAccount>('', 'v1', 'ServiceAccount', 'serviceaccounts')
export const EndpointSlice = kind<V1EndpointSlice>('discovery.k8s.io', 'v1', 'EndpointSlice', 'endpointslices')
export const EventsEvent = kind<EventsV1Event>('events.k8s.io', 'v1', 'Event', 'events')
export const FlowSchema = kind<V1FlowSchema>('flowcontrol.apiserver.k8s.io', 'v1', 'FlowSchema', 'flowschemas', 'Cluster')
export const PriorityLevelConfiguration = kind<V1PriorityLevelConfiguration>(
  'flowcontrol.apiserver.k8s.io',
  'v1',
  'PriorityLevelConfiguration',
  'prioritylevelconfigurations',
  'Cluster',
)
export const IPAddress = kind<V1IPAddress>('networking.k8s.io', 'v1', 'IPAddress', 'ipaddresses', 'Cluster')
export const Ingress = kind<V1Ingress>('networking.k8s.io', 'v1', 'Ingress', 'ingresses')
export const IngressClass = kind<V1IngressClass>('networking.k8s.io', 'v1', 'IngressClass', 'ingressclasses', 'Cluster')
export const NetworkPolicy = kind<V1NetworkPolicy>('networking.k8s.io', 'v1', 'NetworkPolicy', 'networkpolicies')
export const ServiceCIDR = kind<V1ServiceCIDR>('networking.k8s.io', 'v1', 'ServiceCIDR', 'servicecidrs', 'Cluster')
export const RuntimeClass = kind<V1RuntimeClass>('node.k8s.io', 'v1', 'RuntimeClass', 'runtimeclasses', 'Cluster')
export const PodDisruptionBudget = kind<V1PodDisruptionBudget>('policy', 'v1', 'PodDisruptionBudget', 'poddisruptionbudgets')
export const ClusterRole = kind<V1ClusterRole>('rbac.authorization.k8s.io', 'v1', 'ClusterRole', 'clusterroles', 'Cluster')
export const ClusterRoleBinding = kind<V1ClusterRoleBinding>(
  'rbac.authorization.k8s.io',
  'v1',
  'ClusterRoleBinding',
  'clusterrolebindings',
  'Cluster',
)
export const Role = kind<V1Role>('rbac.authorization.k8s.io', 'v1', 'Role', 'roles')
export const RoleBinding = kind<V1RoleBinding>('rbac.authorization.k8s.io', 'v1', 'RoleBinding', 'rolebindings')
export const DeviceClass = kind<V1DeviceClass>('resource.k8s.io', 'v1', 'DeviceClass', 'deviceclasses', 'Cluster')
export const ResourceClaim = kind<V1ResourceClaim>('resource.k8s.io', 'v1', 'ResourceClaim', 'resourceclaims')
export const ResourceClaimTemplate = kind<V1ResourceClaimTemplate>(
  'resource.k8s.io',
  'v1',
  'ResourceClaimTemplate',
  'resourceclaimtemplates',
)
export const ResourceSlice = kind<V1ResourceSlice>('resource.k8s.io', 'v1', 'ResourceSlice', 'resourceslices', 'Cluster')
export const PriorityClass = kind<V1PriorityClass>('scheduling.k8s.io', 'v1', 'PriorityClass', 'priorityclasses', 'Cluster')
export const CSIDriver = kind<V1CSIDriver>('storage.k8s.io', 'v1', 'CSIDriver', 'csidrivers', 'Cluster')
export const CSINode = kind<V1CSINode>('storage.k8s.io', 'v1', 'CSINode', 'csinodes', 'Cluster')
export const CSIStorageCapacity = kind<V1CSIStorageCapacity>('storage.k8s.io', 'v1', 'CSIStorageCapacity', 'csistoragecapacities')
export const StorageClass = kind<V1StorageClass>('storage.k8s.io', 'v1', 'StorageClass', 'storageclasses', 'Cluster')
export const VolumeAttachment = kind<V1VolumeAttachment>('storage.k8s.io', 'v1', 'VolumeAttachment', 'volumeattachments', 'Cluster')
export const VolumeAttributesClass = kind<V1VolumeAttributesClass>(
  'storage.k8s.io',
  'v1',
  'VolumeAttributesClass',
  'volumeattributesclasses',
  'Cluster',
)
