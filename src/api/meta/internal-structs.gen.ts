// Made by scripts/internal-structs.ts; do not edit.
/** A struct a line, then its fields in order; quote-internal.ts tells how to read them. */
export const internalStructs = `
admissionregistration.ApplyConfiguration Expression:s
admissionregistration.AuditAnnotation Key:s ValueExpression:s
admissionregistration.ExpressionWarning FieldRef:s Warning:s
admissionregistration.JSONPatch Expression:s
admissionregistration.MatchCondition Name:s Expression:s
admissionregistration.MatchResources NamespaceSelector:*meta.LabelSelector ObjectSelector:*meta.LabelSelector ResourceRules:[admissionregistration.NamedRuleWithOperations ExcludeResourceRules:[admissionregistration.NamedRuleWithOperations MatchPolicy:*s
admissionregistration.MutatingAdmissionPolicy ^meta.ObjectMeta Spec:admissionregistration.MutatingAdmissionPolicySpec
admissionregistration.MutatingAdmissionPolicyBinding ^meta.ObjectMeta Spec:admissionregistration.MutatingAdmissionPolicyBindingSpec
admissionregistration.MutatingAdmissionPolicyBindingSpec PolicyName:s ParamRef:*admissionregistration.ParamRef MatchResources:*admissionregistration.MatchResources
admissionregistration.MutatingAdmissionPolicySpec ParamKind:*admissionregistration.ParamKind MatchConstraints:*admissionregistration.MatchResources Variables:[admissionregistration.Variable Mutations:[admissionregistration.Mutation FailurePolicy:*s MatchConditions:[admissionregistration.MatchCondition ReinvocationPolicy:s
admissionregistration.MutatingWebhook Name:s ClientConfig:admissionregistration.WebhookClientConfig Rules:[admissionregistration.RuleWithOperations FailurePolicy:*s MatchPolicy:*s NamespaceSelector:*meta.LabelSelector ObjectSelector:*meta.LabelSelector SideEffects:*s TimeoutSeconds:*i AdmissionReviewVersions:[s ReinvocationPolicy:*s MatchConditions:[admissionregistration.MatchCondition
admissionregistration.MutatingWebhookConfiguration ^meta.ObjectMeta Webhooks:[admissionregistration.MutatingWebhook
admissionregistration.Mutation PatchType:s ApplyConfiguration:*admissionregistration.ApplyConfiguration JSONPatch:*admissionregistration.JSONPatch
admissionregistration.NamedRuleWithOperations ResourceNames:[s RuleWithOperations:admissionregistration.RuleWithOperations
admissionregistration.ParamKind APIVersion:s Kind:s
admissionregistration.ParamRef Name:s Namespace:s Selector:*meta.LabelSelector ParameterNotFoundAction:*s
admissionregistration.Rule APIGroups:[s APIVersions:[s Resources:[s Scope:*s
admissionregistration.RuleWithOperations Operations:[s ^admissionregistration.Rule
admissionregistration.ServiceReference Namespace:s Name:s Path:*s Port:i
admissionregistration.TypeChecking ExpressionWarnings:[admissionregistration.ExpressionWarning
admissionregistration.ValidatingAdmissionPolicy ^meta.ObjectMeta Spec:admissionregistration.ValidatingAdmissionPolicySpec Status:admissionregistration.ValidatingAdmissionPolicyStatus
admissionregistration.ValidatingAdmissionPolicyBinding ^meta.ObjectMeta Spec:admissionregistration.ValidatingAdmissionPolicyBindingSpec
admissionregistration.ValidatingAdmissionPolicyBindingSpec PolicyName:s ParamRef:*admissionregistration.ParamRef MatchResources:*admissionregistration.MatchResources ValidationActions:[s
admissionregistration.ValidatingAdmissionPolicySpec ParamKind:*admissionregistration.ParamKind MatchConstraints:*admissionregistration.MatchResources Validations:[admissionregistration.Validation MatchConditions:[admissionregistration.MatchCondition FailurePolicy:*s AuditAnnotations:[admissionregistration.AuditAnnotation Variables:[admissionregistration.Variable
admissionregistration.ValidatingAdmissionPolicyStatus ObservedGeneration:i TypeChecking:*admissionregistration.TypeChecking Conditions:[meta.Condition
admissionregistration.ValidatingWebhook Name:s ClientConfig:admissionregistration.WebhookClientConfig Rules:[admissionregistration.RuleWithOperations FailurePolicy:*s MatchPolicy:*s NamespaceSelector:*meta.LabelSelector ObjectSelector:*meta.LabelSelector SideEffects:*s TimeoutSeconds:*i AdmissionReviewVersions:[s MatchConditions:[admissionregistration.MatchCondition
admissionregistration.ValidatingWebhookConfiguration ^meta.ObjectMeta Webhooks:[admissionregistration.ValidatingWebhook
admissionregistration.Validation Expression:s Message:s Reason:*s MessageExpression:s
admissionregistration.Variable Name:s Expression:s
admissionregistration.WebhookClientConfig URL:*s Service:*admissionregistration.ServiceReference CABundle:y
apiserverinternal.ServerStorageVersion APIServerID:s EncodingVersion:s DecodableVersions:[s ServedVersions:[s
apiserverinternal.StorageVersion ^meta.ObjectMeta Spec:s Status:apiserverinternal.StorageVersionStatus
apiserverinternal.StorageVersionCondition Type:s Status:s ObservedGeneration:i LastTransitionTime:t Reason:s Message:s
apiserverinternal.StorageVersionStatus StorageVersions:[apiserverinternal.ServerStorageVersion CommonEncodingVersion:*s Conditions:[apiserverinternal.StorageVersionCondition
apps.ControllerRevision ^meta.ObjectMeta Data:r Revision:i
apps.DaemonSet ^meta.ObjectMeta Spec:apps.DaemonSetSpec Status:apps.DaemonSetStatus
apps.DaemonSetCondition Type:s Status:s LastTransitionTime:t Reason:s Message:s
apps.DaemonSetSpec Selector:*meta.LabelSelector Template:core.PodTemplateSpec UpdateStrategy:apps.DaemonSetUpdateStrategy MinReadySeconds:i TemplateGeneration:i RevisionHistoryLimit:*i
apps.DaemonSetStatus CurrentNumberScheduled:i NumberMisscheduled:i DesiredNumberScheduled:i NumberReady:i ObservedGeneration:i UpdatedNumberScheduled:i NumberAvailable:i NumberUnavailable:i CollisionCount:*i Conditions:[apps.DaemonSetCondition
apps.DaemonSetUpdateStrategy Type:s RollingUpdate:*apps.RollingUpdateDaemonSet
apps.Deployment ^meta.ObjectMeta Spec:apps.DeploymentSpec Status:apps.DeploymentStatus
apps.DeploymentCondition Type:s Status:s LastUpdateTime:t LastTransitionTime:t Reason:s Message:s
apps.DeploymentRollback Name:s UpdatedAnnotations:{s RollbackTo:apps.RollbackConfig
apps.DeploymentSpec Replicas:i Selector:*meta.LabelSelector Template:core.PodTemplateSpec Strategy:apps.DeploymentStrategy MinReadySeconds:i RevisionHistoryLimit:*i Paused:b RollbackTo:*apps.RollbackConfig ProgressDeadlineSeconds:*i
apps.DeploymentStatus ObservedGeneration:i Replicas:i UpdatedReplicas:i ReadyReplicas:i AvailableReplicas:i UnavailableReplicas:i TerminatingReplicas:*i Conditions:[apps.DeploymentCondition CollisionCount:*i
apps.DeploymentStrategy Type:s RollingUpdate:*apps.RollingUpdateDeployment
apps.ReplicaSet ^meta.ObjectMeta Spec:apps.ReplicaSetSpec Status:apps.ReplicaSetStatus
apps.ReplicaSetCondition Type:s Status:s LastTransitionTime:t Reason:s Message:s
apps.ReplicaSetSpec Replicas:i MinReadySeconds:i Selector:*meta.LabelSelector Template:core.PodTemplateSpec
apps.ReplicaSetStatus Replicas:i FullyLabeledReplicas:i ReadyReplicas:i AvailableReplicas:i TerminatingReplicas:*i ObservedGeneration:i Conditions:[apps.ReplicaSetCondition
apps.RollbackConfig Revision:i
apps.RollingUpdateDaemonSet MaxUnavailable:n MaxSurge:n
apps.RollingUpdateDeployment MaxUnavailable:n MaxSurge:n
apps.RollingUpdateStatefulSetStrategy Partition:i MaxUnavailable:*n
apps.StatefulSet ^meta.ObjectMeta Spec:apps.StatefulSetSpec Status:apps.StatefulSetStatus
apps.StatefulSetCondition Type:s Status:s LastTransitionTime:t Reason:s Message:s
apps.StatefulSetOrdinals Start:i
apps.StatefulSetPersistentVolumeClaimRetentionPolicy WhenDeleted:s WhenScaled:s
apps.StatefulSetSpec Replicas:i Selector:*meta.LabelSelector Template:core.PodTemplateSpec VolumeClaimTemplates:[core.PersistentVolumeClaim ServiceName:s PodManagementPolicy:s UpdateStrategy:apps.StatefulSetUpdateStrategy RevisionHistoryLimit:*i MinReadySeconds:i PersistentVolumeClaimRetentionPolicy:*apps.StatefulSetPersistentVolumeClaimRetentionPolicy Ordinals:*apps.StatefulSetOrdinals
apps.StatefulSetStatus ObservedGeneration:*i Replicas:i ReadyReplicas:i CurrentReplicas:i UpdatedReplicas:i CurrentRevision:s UpdateRevision:s CollisionCount:*i Conditions:[apps.StatefulSetCondition AvailableReplicas:i
apps.StatefulSetUpdateStrategy Type:s RollingUpdate:*apps.RollingUpdateStatefulSetStrategy
authentication.BoundObjectReference Kind:s APIVersion:s Name:s UID:s
authentication.SelfSubjectReview ^meta.ObjectMeta Status:authentication.SelfSubjectReviewStatus
authentication.SelfSubjectReviewStatus UserInfo:authentication.UserInfo
authentication.TokenRequest ^meta.ObjectMeta Spec:authentication.TokenRequestSpec Status:authentication.TokenRequestStatus
authentication.TokenRequestSpec Audiences:[s ExpirationSeconds:i BoundObjectRef:*authentication.BoundObjectReference
authentication.TokenRequestStatus ^s ExpirationTimestamp:t
authentication.TokenReview ^meta.ObjectMeta Spec:authentication.TokenReviewSpec Status:authentication.TokenReviewStatus
authentication.TokenReviewSpec ^s Audiences:[s
authentication.TokenReviewStatus Authenticated:b User:authentication.UserInfo Audiences:[s Error:s
authentication.UserInfo Username:s UID:s Groups:[s Extra:{[s
authorization.FieldSelectorAttributes RawSelector:s Requirements:[meta.FieldSelectorRequirement
authorization.LabelSelectorAttributes RawSelector:s Requirements:[meta.LabelSelectorRequirement
authorization.LocalSubjectAccessReview ^meta.ObjectMeta Spec:authorization.SubjectAccessReviewSpec Status:authorization.SubjectAccessReviewStatus
authorization.NonResourceAttributes Path:s Verb:s
authorization.NonResourceRule Verbs:[s NonResourceURLs:[s
authorization.ResourceAttributes Namespace:s Verb:s Group:s Version:s Resource:s Subresource:s Name:s FieldSelector:*authorization.FieldSelectorAttributes LabelSelector:*authorization.LabelSelectorAttributes
authorization.ResourceRule Verbs:[s APIGroups:[s Resources:[s ResourceNames:[s
authorization.SelfSubjectAccessReview ^meta.ObjectMeta Spec:authorization.SelfSubjectAccessReviewSpec Status:authorization.SubjectAccessReviewStatus
authorization.SelfSubjectAccessReviewSpec ResourceAttributes:*authorization.ResourceAttributes NonResourceAttributes:*authorization.NonResourceAttributes
authorization.SelfSubjectRulesReview ^meta.ObjectMeta Spec:authorization.SelfSubjectRulesReviewSpec Status:authorization.SubjectRulesReviewStatus
authorization.SelfSubjectRulesReviewSpec Namespace:s
authorization.SubjectAccessReview ^meta.ObjectMeta Spec:authorization.SubjectAccessReviewSpec Status:authorization.SubjectAccessReviewStatus
authorization.SubjectAccessReviewSpec ResourceAttributes:*authorization.ResourceAttributes NonResourceAttributes:*authorization.NonResourceAttributes User:s Groups:[s Extra:{[s UID:s
authorization.SubjectAccessReviewStatus Allowed:b Denied:b Reason:s EvaluationError:s
authorization.SubjectRulesReviewStatus ResourceRules:[authorization.ResourceRule NonResourceRules:[authorization.NonResourceRule Incomplete:b EvaluationError:s
autoscaling.ContainerResourceMetricSource Name:s Container:s Target:autoscaling.MetricTarget
autoscaling.ContainerResourceMetricStatus Name:s Container:s Current:autoscaling.MetricValueStatus
autoscaling.CrossVersionObjectReference Kind:s Name:s APIVersion:s
autoscaling.ExternalMetricSource Metric:autoscaling.MetricIdentifier Target:autoscaling.MetricTarget
autoscaling.ExternalMetricStatus Metric:autoscaling.MetricIdentifier Current:autoscaling.MetricValueStatus
autoscaling.HPAScalingPolicy Type:s Value:i PeriodSeconds:i
autoscaling.HPAScalingRules StabilizationWindowSeconds:*i SelectPolicy:*s Policies:[autoscaling.HPAScalingPolicy Tolerance:*q
autoscaling.HorizontalPodAutoscaler ^meta.ObjectMeta Spec:autoscaling.HorizontalPodAutoscalerSpec Status:autoscaling.HorizontalPodAutoscalerStatus
autoscaling.HorizontalPodAutoscalerBehavior ScaleUp:*autoscaling.HPAScalingRules ScaleDown:*autoscaling.HPAScalingRules
autoscaling.HorizontalPodAutoscalerCondition Type:s Status:s LastTransitionTime:t Reason:s Message:s
autoscaling.HorizontalPodAutoscalerSpec ScaleTargetRef:autoscaling.CrossVersionObjectReference MinReplicas:*i MaxReplicas:i Metrics:[autoscaling.MetricSpec Behavior:*autoscaling.HorizontalPodAutoscalerBehavior
autoscaling.HorizontalPodAutoscalerStatus ObservedGeneration:*i LastScaleTime:*t CurrentReplicas:i DesiredReplicas:i CurrentMetrics:[autoscaling.MetricStatus Conditions:[autoscaling.HorizontalPodAutoscalerCondition
autoscaling.MetricIdentifier Name:s Selector:*meta.LabelSelector
autoscaling.MetricSpec Type:s Object:*autoscaling.ObjectMetricSource Pods:*autoscaling.PodsMetricSource Resource:*autoscaling.ResourceMetricSource ContainerResource:*autoscaling.ContainerResourceMetricSource External:*autoscaling.ExternalMetricSource
autoscaling.MetricStatus Type:s Object:*autoscaling.ObjectMetricStatus Pods:*autoscaling.PodsMetricStatus Resource:*autoscaling.ResourceMetricStatus ContainerResource:*autoscaling.ContainerResourceMetricStatus External:*autoscaling.ExternalMetricStatus
autoscaling.MetricTarget Type:s Value:*q AverageValue:*q AverageUtilization:*i
autoscaling.MetricValueStatus Value:*q AverageValue:*q AverageUtilization:*i
autoscaling.ObjectMetricSource DescribedObject:autoscaling.CrossVersionObjectReference Target:autoscaling.MetricTarget Metric:autoscaling.MetricIdentifier
autoscaling.ObjectMetricStatus Metric:autoscaling.MetricIdentifier Current:autoscaling.MetricValueStatus DescribedObject:autoscaling.CrossVersionObjectReference
autoscaling.PodsMetricSource Metric:autoscaling.MetricIdentifier Target:autoscaling.MetricTarget
autoscaling.PodsMetricStatus Metric:autoscaling.MetricIdentifier Current:autoscaling.MetricValueStatus
autoscaling.ResourceMetricSource Name:s Target:autoscaling.MetricTarget
autoscaling.ResourceMetricStatus Name:s Current:autoscaling.MetricValueStatus
autoscaling.Scale ^meta.ObjectMeta Spec:autoscaling.ScaleSpec Status:autoscaling.ScaleStatus
autoscaling.ScaleSpec Replicas:i
autoscaling.ScaleStatus Replicas:i Selector:s
batch.CronJob ^meta.ObjectMeta Spec:batch.CronJobSpec Status:batch.CronJobStatus
batch.CronJobSpec Schedule:s TimeZone:*s StartingDeadlineSeconds:*i ConcurrencyPolicy:s Suspend:*b JobTemplate:batch.JobTemplateSpec SuccessfulJobsHistoryLimit:*i FailedJobsHistoryLimit:*i
batch.CronJobStatus Active:[core.ObjectReference LastScheduleTime:*t LastSuccessfulTime:*t
batch.Job ^meta.ObjectMeta Spec:batch.JobSpec Status:batch.JobStatus
batch.JobCondition Type:s Status:s LastProbeTime:t LastTransitionTime:t Reason:s Message:s
batch.JobSpec Parallelism:*i Completions:*i PodFailurePolicy:*batch.PodFailurePolicy SuccessPolicy:*batch.SuccessPolicy ActiveDeadlineSeconds:*i BackoffLimit:*i BackoffLimitPerIndex:*i MaxFailedIndexes:*i Selector:*meta.LabelSelector ManualSelector:*b Template:core.PodTemplateSpec TTLSecondsAfterFinished:*i CompletionMode:*s Suspend:*b PodReplacementPolicy:*s ManagedBy:*s
batch.JobStatus Conditions:[batch.JobCondition StartTime:*t CompletionTime:*t Active:i Terminating:*i Ready:*i Succeeded:i Failed:i CompletedIndexes:s FailedIndexes:*s UncountedTerminatedPods:*batch.UncountedTerminatedPods
batch.JobTemplateSpec ^meta.ObjectMeta Spec:batch.JobSpec
batch.PodFailurePolicy Rules:[batch.PodFailurePolicyRule
batch.PodFailurePolicyOnExitCodesRequirement ContainerName:*s Operator:s Values:[i
batch.PodFailurePolicyOnPodConditionsPattern Type:s Status:s
batch.PodFailurePolicyRule Action:s OnExitCodes:*batch.PodFailurePolicyOnExitCodesRequirement OnPodConditions:[batch.PodFailurePolicyOnPodConditionsPattern
batch.SuccessPolicy Rules:[batch.SuccessPolicyRule
batch.SuccessPolicyRule SucceededIndexes:*s SucceededCount:*i
batch.UncountedTerminatedPods Succeeded:[s Failed:[s
certificates.CertificateSigningRequest ^meta.ObjectMeta Spec:certificates.CertificateSigningRequestSpec Status:certificates.CertificateSigningRequestStatus
certificates.CertificateSigningRequestCondition Type:s Status:s Reason:s Message:s LastUpdateTime:t LastTransitionTime:t
certificates.CertificateSigningRequestSpec Request:y SignerName:s ExpirationSeconds:*i Usages:[s Username:s UID:s Groups:[s Extra:{[s
certificates.CertificateSigningRequestStatus Conditions:[certificates.CertificateSigningRequestCondition Certificate:y
certificates.ClusterTrustBundle ^meta.ObjectMeta Spec:certificates.ClusterTrustBundleSpec
certificates.ClusterTrustBundleSpec SignerName:s TrustBundle:s
certificates.PodCertificateRequest ^meta.ObjectMeta Spec:certificates.PodCertificateRequestSpec Status:certificates.PodCertificateRequestStatus
certificates.PodCertificateRequestSpec SignerName:s PodName:s PodUID:s ServiceAccountName:s ServiceAccountUID:s NodeName:s NodeUID:s MaxExpirationSeconds:*i PKIXPublicKey:y ProofOfPossession:y StubPKCS10Request:y UnverifiedUserAnnotations:{s
certificates.PodCertificateRequestStatus Conditions:[meta.Condition CertificateChain:s NotBefore:*t BeginRefreshAt:*t NotAfter:*t
coordination.Lease ^meta.ObjectMeta Spec:coordination.LeaseSpec
coordination.LeaseCandidate ^meta.ObjectMeta Spec:coordination.LeaseCandidateSpec
coordination.LeaseCandidateSpec LeaseName:s PingTime:*t RenewTime:*t BinaryVersion:s EmulationVersion:s Strategy:s
coordination.LeaseSpec HolderIdentity:*s LeaseDurationSeconds:*i AcquireTime:*t RenewTime:*t LeaseTransitions:*i Strategy:*s PreferredHolder:*s
core.AWSElasticBlockStoreVolumeSource VolumeID:s FSType:s Partition:i ReadOnly:b
core.Affinity NodeAffinity:*core.NodeAffinity PodAffinity:*core.PodAffinity PodAntiAffinity:*core.PodAntiAffinity
core.AppArmorProfile Type:s LocalhostProfile:*s
core.AttachedVolume Name:s DevicePath:s
core.AvoidPods PreferAvoidPods:[core.PreferAvoidPodsEntry
core.AzureDiskVolumeSource DiskName:s DataDiskURI=diskURI:s CachingMode:*s FSType:*s ReadOnly:*b Kind:*s
core.AzureFilePersistentVolumeSource SecretName:s ShareName:s ReadOnly:b SecretNamespace:*s
core.AzureFileVolumeSource SecretName:s ShareName:s ReadOnly:b
core.Binding ^meta.ObjectMeta Target:core.ObjectReference
core.CSIPersistentVolumeSource Driver:s VolumeHandle:s ReadOnly:b FSType:s VolumeAttributes:{s ControllerPublishSecretRef:*core.SecretReference NodeStageSecretRef:*core.SecretReference NodePublishSecretRef:*core.SecretReference ControllerExpandSecretRef:*core.SecretReference NodeExpandSecretRef:*core.SecretReference
core.CSIVolumeSource Driver:s ReadOnly:*b FSType:*s VolumeAttributes:{s NodePublishSecretRef:*core.LocalObjectReference
core.Capabilities Add:[s Drop:[s
core.CephFSPersistentVolumeSource Monitors:[s Path:s User:s SecretFile:s SecretRef:*core.SecretReference ReadOnly:b
core.CephFSVolumeSource Monitors:[s Path:s User:s SecretFile:s SecretRef:*core.LocalObjectReference ReadOnly:b
core.CinderPersistentVolumeSource VolumeID:s FSType:s ReadOnly:b SecretRef:*core.SecretReference
core.CinderVolumeSource VolumeID:s FSType:s ReadOnly:b SecretRef:*core.LocalObjectReference
core.ClientIPConfig TimeoutSeconds:*i
core.ClusterTrustBundleProjection Name:*s SignerName:*s LabelSelector:*meta.LabelSelector Optional:*b Path:s
core.ComponentCondition Type:s Status:s Message:s Error:s
core.ComponentStatus ^meta.ObjectMeta Conditions:[core.ComponentCondition
core.ConfigMap ^meta.ObjectMeta Immutable:*b Data:{s BinaryData:{y
core.ConfigMapEnvSource ^core.LocalObjectReference Optional:*b
core.ConfigMapKeySelector ^core.LocalObjectReference Key:s Optional:*b
core.ConfigMapNodeConfigSource Namespace:s Name:s UID:s ResourceVersion:s KubeletConfigKey:s
core.ConfigMapProjection ^core.LocalObjectReference Items:[core.KeyToPath Optional:*b
core.ConfigMapVolumeSource ^core.LocalObjectReference Items:[core.KeyToPath DefaultMode:*i Optional:*b
core.Container Name:s Image:s Command:[s Args:[s WorkingDir:s Ports:[core.ContainerPort EnvFrom:[core.EnvFromSource Env:[core.EnvVar Resources:core.ResourceRequirements ResizePolicy:[core.ContainerResizePolicy RestartPolicy:*s RestartPolicyRules:[core.ContainerRestartRule VolumeMounts:[core.VolumeMount VolumeDevices:[core.VolumeDevice LivenessProbe:*core.Probe ReadinessProbe:*core.Probe StartupProbe:*core.Probe Lifecycle:*core.Lifecycle TerminationMessagePath:s TerminationMessagePolicy:s ImagePullPolicy:s SecurityContext:*core.SecurityContext Stdin:b StdinOnce:b TTY:b
core.ContainerExtendedResourceRequest ContainerName:s ResourceName:s RequestName:s
core.ContainerImage Names:[s SizeBytes:i
core.ContainerPort Name:s HostPort:i ContainerPort:i Protocol:s HostIP:s
core.ContainerResizePolicy ResourceName:s RestartPolicy:s
core.ContainerRestartRule Action:s ExitCodes:*core.ContainerRestartRuleOnExitCodes
core.ContainerRestartRuleOnExitCodes Operator:s Values:[i
core.ContainerState Waiting:*core.ContainerStateWaiting Running:*core.ContainerStateRunning Terminated:*core.ContainerStateTerminated
core.ContainerStateRunning StartedAt:t
core.ContainerStateTerminated ExitCode:i Signal:i Reason:s Message:s StartedAt:t FinishedAt:t ContainerID:s
core.ContainerStateWaiting Reason:s Message:s
core.ContainerStatus Name:s State:core.ContainerState LastTerminationState=lastState:core.ContainerState Ready:b RestartCount:i Image:s ImageID:s ContainerID:s Started:*b AllocatedResources:{q Resources:*core.ResourceRequirements VolumeMounts:[core.VolumeMountStatus User:*core.ContainerUser AllocatedResourcesStatus:[core.ResourceStatus StopSignal:*s
core.ContainerUser Linux:*core.LinuxContainerUser
core.DaemonEndpoint Port=Port:i
core.DownwardAPIProjection Items:[core.DownwardAPIVolumeFile
core.DownwardAPIVolumeFile Path:s FieldRef:*core.ObjectFieldSelector ResourceFieldRef:*core.ResourceFieldSelector Mode:*i
core.DownwardAPIVolumeSource Items:[core.DownwardAPIVolumeFile DefaultMode:*i
core.EmptyDirVolumeSource Medium:s SizeLimit:*q
core.EndpointAddress IP:s Hostname:s NodeName:*s TargetRef:*core.ObjectReference
core.EndpointPort Name:s Port:i Protocol:s AppProtocol:*s
core.EndpointSubset Addresses:[core.EndpointAddress NotReadyAddresses:[core.EndpointAddress Ports:[core.EndpointPort
core.Endpoints ^meta.ObjectMeta Subsets:[core.EndpointSubset
core.EnvFromSource Prefix:s ConfigMapRef:*core.ConfigMapEnvSource SecretRef:*core.SecretEnvSource
core.EnvVar Name:s Value:s ValueFrom:*core.EnvVarSource
core.EnvVarSource FieldRef:*core.ObjectFieldSelector ResourceFieldRef:*core.ResourceFieldSelector ConfigMapKeyRef:*core.ConfigMapKeySelector SecretKeyRef:*core.SecretKeySelector FileKeyRef:*core.FileKeySelector
core.EphemeralContainer ^core.EphemeralContainerCommon TargetContainerName:s
core.EphemeralContainerCommon Name:s Image:s Command:[s Args:[s WorkingDir:s Ports:[core.ContainerPort EnvFrom:[core.EnvFromSource Env:[core.EnvVar Resources:core.ResourceRequirements ResizePolicy:[core.ContainerResizePolicy RestartPolicy:*s RestartPolicyRules:[core.ContainerRestartRule VolumeMounts:[core.VolumeMount VolumeDevices:[core.VolumeDevice LivenessProbe:*core.Probe ReadinessProbe:*core.Probe StartupProbe:*core.Probe Lifecycle:*core.Lifecycle TerminationMessagePath:s TerminationMessagePolicy:s ImagePullPolicy:s SecurityContext:*core.SecurityContext Stdin:b StdinOnce:b TTY:b
core.EphemeralVolumeSource VolumeClaimTemplate:*core.PersistentVolumeClaimTemplate
core.Event ^meta.ObjectMeta InvolvedObject:core.ObjectReference Reason:s Message:s Source:core.EventSource FirstTimestamp:t LastTimestamp:t Count:i Type:s EventTime:t Series:*core.EventSeries Action:s Related:*core.ObjectReference ReportingController=reportingComponent:s ReportingInstance:s
core.EventSeries Count:i LastObservedTime:t
core.EventSource Component:s Host:s
core.ExecAction Command:[s
core.FCVolumeSource TargetWWNs:[s Lun:*i FSType:s ReadOnly:b WWIDs=wwids:[s
core.FileKeySelector VolumeName:s Path:s Key:s Optional:*b
core.FlexPersistentVolumeSource Driver:s FSType:s SecretRef:*core.SecretReference ReadOnly:b Options:{s
core.FlexVolumeSource Driver:s FSType:s SecretRef:*core.LocalObjectReference ReadOnly:b Options:{s
core.FlockerVolumeSource DatasetName:s DatasetUUID:s
core.GCEPersistentDiskVolumeSource PDName:s FSType:s Partition:i ReadOnly:b
core.GRPCAction Port:i Service:*s
core.GitRepoVolumeSource Repository:s Revision:s Directory:s
core.GlusterfsPersistentVolumeSource EndpointsName=endpoints:s Path:s ReadOnly:b EndpointsNamespace:*s
core.GlusterfsVolumeSource EndpointsName=endpoints:s Path:s ReadOnly:b
core.HTTPGetAction Path:s Port:n Host:s Scheme:s HTTPHeaders:[core.HTTPHeader
core.HTTPHeader Name:s Value:s
core.HostAlias IP:s Hostnames:[s
core.HostIP IP:s
core.HostPathVolumeSource Path:s Type:*s
core.ISCSIPersistentVolumeSource TargetPortal:s IQN:s Lun:i ISCSIInterface:s FSType:s ReadOnly:b Portals:[s DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b SecretRef:*core.SecretReference InitiatorName:*s
core.ISCSIVolumeSource TargetPortal:s IQN:s Lun:i ISCSIInterface:s FSType:s ReadOnly:b Portals:[s DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b SecretRef:*core.LocalObjectReference InitiatorName:*s
core.ImageVolumeSource Reference:s PullPolicy:s
core.ImageVolumeStatus ImageRef:s
core.KeyToPath Key:s Path:s Mode:*i
core.Lifecycle PostStart:*core.LifecycleHandler PreStop:*core.LifecycleHandler StopSignal:*s
core.LifecycleHandler Exec:*core.ExecAction HTTPGet:*core.HTTPGetAction TCPSocket:*core.TCPSocketAction Sleep:*core.SleepAction
core.LimitRange ^meta.ObjectMeta Spec:core.LimitRangeSpec
core.LimitRangeItem Type:s Max:{q Min:{q Default:{q DefaultRequest:{q MaxLimitRequestRatio:{q
core.LimitRangeSpec Limits:[core.LimitRangeItem
core.LinuxContainerUser UID:i GID:i SupplementalGroups:[i
core.LoadBalancerIngress IP:s Hostname:s IPMode:*s Ports:[core.PortStatus
core.LoadBalancerStatus Ingress:[core.LoadBalancerIngress
core.LocalObjectReference Name:s
core.LocalVolumeSource Path:s FSType:*s
core.ModifyVolumeStatus TargetVolumeAttributesClassName:s Status:s
core.NFSVolumeSource Server:s Path:s ReadOnly:b
core.Namespace ^meta.ObjectMeta Spec:core.NamespaceSpec Status:core.NamespaceStatus
core.NamespaceCondition Type:s Status:s LastTransitionTime:t Reason:s Message:s
core.NamespaceSpec Finalizers:[s
core.NamespaceStatus Phase:s Conditions:[core.NamespaceCondition
core.Node ^meta.ObjectMeta Spec:core.NodeSpec Status:core.NodeStatus
core.NodeAddress Type:s Address:s
core.NodeAffinity RequiredDuringSchedulingIgnoredDuringExecution:*core.NodeSelector PreferredDuringSchedulingIgnoredDuringExecution:[core.PreferredSchedulingTerm
core.NodeAllocatableResourceClaimStatus ResourceClaimName:s Containers:[s Resources:{q
core.NodeCondition Type:s Status:s LastHeartbeatTime:t LastTransitionTime:t Reason:s Message:s
core.NodeConfigSource ConfigMap:*core.ConfigMapNodeConfigSource
core.NodeConfigStatus Assigned:*core.NodeConfigSource Active:*core.NodeConfigSource LastKnownGood:*core.NodeConfigSource Error:s
core.NodeDaemonEndpoints KubeletEndpoint:core.DaemonEndpoint
core.NodeFeatures SupplementalGroupsPolicy:*b
core.NodeRuntimeHandler Name:s Features:*core.NodeRuntimeHandlerFeatures
core.NodeRuntimeHandlerFeatures RecursiveReadOnlyMounts:*b UserNamespaces:*b
core.NodeSelector NodeSelectorTerms:[core.NodeSelectorTerm
core.NodeSelectorRequirement Key:s Operator:s Values:[s
core.NodeSelectorTerm MatchExpressions:[core.NodeSelectorRequirement MatchFields:[core.NodeSelectorRequirement
core.NodeSpec PodCIDRs:[s ProviderID:s Unschedulable:b Taints:[core.Taint ConfigSource:*core.NodeConfigSource DoNotUseExternalID=externalID:s
core.NodeStatus Capacity:{q Allocatable:{q Phase:s Conditions:[core.NodeCondition Addresses:[core.NodeAddress DaemonEndpoints:core.NodeDaemonEndpoints NodeInfo:core.NodeSystemInfo Images:[core.ContainerImage VolumesInUse:[s VolumesAttached:[core.AttachedVolume Config:*core.NodeConfigStatus RuntimeHandlers:[core.NodeRuntimeHandler Features:*core.NodeFeatures DeclaredFeatures:[s
core.NodeSwapStatus Capacity:*i
core.NodeSystemInfo MachineID:s SystemUUID:s BootID:s KernelVersion:s OSImage:s ContainerRuntimeVersion:s KubeletVersion:s KubeProxyVersion:s OperatingSystem:s Architecture:s Swap:*core.NodeSwapStatus
core.ObjectFieldSelector APIVersion:s FieldPath:s
core.ObjectReference Kind:s Namespace:s Name:s UID:s APIVersion:s ResourceVersion:s FieldPath:s
core.PersistentVolume ^meta.ObjectMeta Spec:core.PersistentVolumeSpec Status:core.PersistentVolumeStatus
core.PersistentVolumeClaim ^meta.ObjectMeta Spec:core.PersistentVolumeClaimSpec Status:core.PersistentVolumeClaimStatus
core.PersistentVolumeClaimCondition Type:s Status:s LastProbeTime:t LastTransitionTime:t Reason:s Message:s
core.PersistentVolumeClaimSpec AccessModes:[s Selector:*meta.LabelSelector Resources:core.VolumeResourceRequirements VolumeName:s StorageClassName:*s VolumeMode:*s DataSource:*core.TypedLocalObjectReference DataSourceRef:*core.TypedObjectReference VolumeAttributesClassName:*s
core.PersistentVolumeClaimStatus Phase:s AccessModes:[s Capacity:{q Conditions:[core.PersistentVolumeClaimCondition AllocatedResources:{q AllocatedResourceStatuses:{s CurrentVolumeAttributesClassName:*s ModifyVolumeStatus:*core.ModifyVolumeStatus
core.PersistentVolumeClaimTemplate ^meta.ObjectMeta Spec:core.PersistentVolumeClaimSpec
core.PersistentVolumeClaimVolumeSource ClaimName:s ReadOnly:b
core.PersistentVolumeSource GCEPersistentDisk:*core.GCEPersistentDiskVolumeSource AWSElasticBlockStore:*core.AWSElasticBlockStoreVolumeSource HostPath:*core.HostPathVolumeSource Glusterfs:*core.GlusterfsPersistentVolumeSource NFS:*core.NFSVolumeSource RBD:*core.RBDPersistentVolumeSource Quobyte:*core.QuobyteVolumeSource ISCSI:*core.ISCSIPersistentVolumeSource FlexVolume:*core.FlexPersistentVolumeSource Cinder:*core.CinderPersistentVolumeSource CephFS=cephfs:*core.CephFSPersistentVolumeSource FC:*core.FCVolumeSource Flocker:*core.FlockerVolumeSource AzureFile:*core.AzureFilePersistentVolumeSource VsphereVolume:*core.VsphereVirtualDiskVolumeSource AzureDisk:*core.AzureDiskVolumeSource PhotonPersistentDisk:*core.PhotonPersistentDiskVolumeSource PortworxVolume:*core.PortworxVolumeSource ScaleIO:*core.ScaleIOPersistentVolumeSource Local:*core.LocalVolumeSource StorageOS=storageos:*core.StorageOSPersistentVolumeSource CSI:*core.CSIPersistentVolumeSource
core.PersistentVolumeSpec Capacity:{q ^core.PersistentVolumeSource AccessModes:[s ClaimRef:*core.ObjectReference PersistentVolumeReclaimPolicy:s StorageClassName:s MountOptions:[s VolumeMode:*s NodeAffinity:*core.VolumeNodeAffinity VolumeAttributesClassName:*s
core.PersistentVolumeStatus Phase:s Message:s Reason:s LastPhaseTransitionTime:*t
core.PhotonPersistentDiskVolumeSource PdID:s FSType:s
core.Pod ^meta.ObjectMeta Spec:core.PodSpec Status:core.PodStatus
core.PodAffinity RequiredDuringSchedulingIgnoredDuringExecution:[core.PodAffinityTerm PreferredDuringSchedulingIgnoredDuringExecution:[core.WeightedPodAffinityTerm
core.PodAffinityTerm LabelSelector:*meta.LabelSelector Namespaces:[s TopologyKey:s NamespaceSelector:*meta.LabelSelector MatchLabelKeys:[s MismatchLabelKeys:[s
core.PodAntiAffinity RequiredDuringSchedulingIgnoredDuringExecution:[core.PodAffinityTerm PreferredDuringSchedulingIgnoredDuringExecution:[core.WeightedPodAffinityTerm
core.PodCertificateProjection SignerName:s KeyType:s MaxExpirationSeconds:*i CredentialBundlePath:s KeyPath:s CertificateChainPath:s UserAnnotations:{s
core.PodCondition Type:s ObservedGeneration:i Status:s LastProbeTime:t LastTransitionTime:t Reason:s Message:s
core.PodDNSConfig Nameservers:[s Searches:[s Options:[core.PodDNSConfigOption
core.PodDNSConfigOption Name:s Value:*s
core.PodExtendedResourceClaimStatus RequestMappings:[core.ContainerExtendedResourceRequest ResourceClaimName:s
core.PodIP IP:s
core.PodOS Name:s
core.PodReadinessGate ConditionType:s
core.PodResourceClaim Name:s ResourceClaimName:*s ResourceClaimTemplateName:*s
core.PodResourceClaimStatus Name:s ResourceClaimName:*s
core.PodSchedulingGate Name:s
core.PodSchedulingGroup PodGroupName:*s
core.PodSecurityContext HostNetwork:b HostPID:b HostIPC:b ShareProcessNamespace:*b HostUsers:*b SELinuxOptions:*core.SELinuxOptions WindowsOptions:*core.WindowsSecurityContextOptions RunAsUser:*i RunAsGroup:*i RunAsNonRoot:*b SupplementalGroups:[i SupplementalGroupsPolicy:*s FSGroup:*i FSGroupChangePolicy:*s Sysctls:[core.Sysctl SeccompProfile:*core.SeccompProfile AppArmorProfile:*core.AppArmorProfile SELinuxChangePolicy:*s
core.PodSignature PodController:*meta.OwnerReference
core.PodSpec Volumes:[core.Volume InitContainers:[core.Container Containers:[core.Container EphemeralContainers:[core.EphemeralContainer RestartPolicy:s TerminationGracePeriodSeconds:*i ActiveDeadlineSeconds:*i DNSPolicy:s NodeSelector:{s ServiceAccountName:s AutomountServiceAccountToken:*b NodeName:s SecurityContext:*core.PodSecurityContext ImagePullSecrets:[core.LocalObjectReference Hostname:s Subdomain:s SetHostnameAsFQDN:*b Affinity:*core.Affinity SchedulerName:s Tolerations:[core.Toleration HostAliases:[core.HostAlias PriorityClassName:s Priority:*i PreemptionPolicy:*s DNSConfig:*core.PodDNSConfig ReadinessGates:[core.PodReadinessGate RuntimeClassName:*s Overhead:{q EnableServiceLinks:*b TopologySpreadConstraints:[core.TopologySpreadConstraint OS:*core.PodOS SchedulingGates:[core.PodSchedulingGate ResourceClaims:[core.PodResourceClaim Resources:*core.ResourceRequirements HostnameOverride:*s SchedulingGroup:*core.PodSchedulingGroup
core.PodStatus ObservedGeneration:i Phase:s Conditions:[core.PodCondition Message:s Reason:s NominatedNodeName:s HostIP:s HostIPs:[core.HostIP PodIPs:[core.PodIP StartTime:*t QOSClass:s InitContainerStatuses:[core.ContainerStatus ContainerStatuses:[core.ContainerStatus EphemeralContainerStatuses:[core.ContainerStatus Resize:s ResourceClaimStatuses:[core.PodResourceClaimStatus ExtendedResourceClaimStatus:*core.PodExtendedResourceClaimStatus AllocatedResources:{q Resources:*core.ResourceRequirements NodeAllocatableResourceClaimStatuses:[core.NodeAllocatableResourceClaimStatus
core.PodStatusResult ^meta.ObjectMeta Status:core.PodStatus
core.PodTemplate ^meta.ObjectMeta Template:core.PodTemplateSpec
core.PodTemplateSpec ^meta.ObjectMeta Spec:core.PodSpec
core.PortStatus Port:i Protocol:s Error:*s
core.PortworxVolumeSource VolumeID:s FSType:s ReadOnly:b
core.Preconditions UID:*s
core.PreferAvoidPodsEntry PodSignature:core.PodSignature EvictionTime:t Reason:s Message:s
core.PreferredSchedulingTerm Weight:i Preference:core.NodeSelectorTerm
core.Probe ^core.ProbeHandler InitialDelaySeconds:i TimeoutSeconds:i PeriodSeconds:i SuccessThreshold:i FailureThreshold:i TerminationGracePeriodSeconds:*i
core.ProbeHandler Exec:*core.ExecAction HTTPGet:*core.HTTPGetAction TCPSocket:*core.TCPSocketAction GRPC:*core.GRPCAction
core.ProjectedVolumeSource Sources:[core.VolumeProjection DefaultMode:*i
core.QuobyteVolumeSource Registry:s Volume:s ReadOnly:b User:s Group:s Tenant:s
core.RBDPersistentVolumeSource CephMonitors=monitors:[s RBDImage=image:s FSType:s RBDPool=pool:s RadosUser=user:s Keyring:s SecretRef:*core.SecretReference ReadOnly:b
core.RBDVolumeSource CephMonitors=monitors:[s RBDImage=image:s FSType:s RBDPool=pool:s RadosUser=user:s Keyring:s SecretRef:*core.LocalObjectReference ReadOnly:b
core.RangeAllocation ^meta.ObjectMeta Range:s Data:y
core.ReplicationController ^meta.ObjectMeta Spec:core.ReplicationControllerSpec Status:core.ReplicationControllerStatus
core.ReplicationControllerCondition Type:s Status:s LastTransitionTime:t Reason:s Message:s
core.ReplicationControllerSpec Replicas:*i MinReadySeconds:i Selector:{s Template:*core.PodTemplateSpec
core.ReplicationControllerStatus Replicas:i FullyLabeledReplicas:i ReadyReplicas:i AvailableReplicas:i ObservedGeneration:i Conditions:[core.ReplicationControllerCondition
core.ResourceClaim Name:s Request:s
core.ResourceFieldSelector ContainerName:s Resource:s Divisor:q
core.ResourceHealth ResourceID:s Health:s Message:*s
core.ResourceQuota ^meta.ObjectMeta Spec:core.ResourceQuotaSpec Status:core.ResourceQuotaStatus
core.ResourceQuotaSpec Hard:{q Scopes:[s ScopeSelector:*core.ScopeSelector
core.ResourceQuotaStatus Hard:{q Used:{q
core.ResourceRequirements Limits:{q Requests:{q Claims:[core.ResourceClaim
core.ResourceStatus Name:s Resources:[core.ResourceHealth
core.ScaleIOPersistentVolumeSource Gateway:s System:s SecretRef:*core.SecretReference SSLEnabled:b ProtectionDomain:s StoragePool:s StorageMode:s VolumeName:s FSType:s ReadOnly:b
core.ScaleIOVolumeSource Gateway:s System:s SecretRef:*core.LocalObjectReference SSLEnabled:b ProtectionDomain:s StoragePool:s StorageMode:s VolumeName:s FSType:s ReadOnly:b
core.ScopeSelector MatchExpressions:[core.ScopedResourceSelectorRequirement
core.ScopedResourceSelectorRequirement ScopeName:s Operator:s Values:[s
core.SeccompProfile Type:s LocalhostProfile:*s
core.Secret ^meta.ObjectMeta Immutable:*b ^s Type:s
core.SecretEnvSource ^core.LocalObjectReference Optional:*b
core.SecretKeySelector ^core.LocalObjectReference Key:s Optional:*b
core.SecretProjection ^core.LocalObjectReference Items:[core.KeyToPath Optional:*b
core.SecretReference Name:s Namespace:s
core.SecretVolumeSource SecretName:s Items:[core.KeyToPath DefaultMode:*i Optional:*b
core.SecurityContext Capabilities:*core.Capabilities Privileged:*b SELinuxOptions:*core.SELinuxOptions WindowsOptions:*core.WindowsSecurityContextOptions RunAsUser:*i RunAsGroup:*i RunAsNonRoot:*b ReadOnlyRootFilesystem:*b AllowPrivilegeEscalation:*b ProcMount:*s SeccompProfile:*core.SeccompProfile AppArmorProfile:*core.AppArmorProfile
core.SerializedReference Reference:core.ObjectReference
core.Service ^meta.ObjectMeta Spec:core.ServiceSpec Status:core.ServiceStatus
core.ServiceAccount ^meta.ObjectMeta Secrets:[core.ObjectReference ImagePullSecrets:[core.LocalObjectReference AutomountServiceAccountToken:*b
core.ServiceAccountTokenProjection Audience:s ExpirationSeconds:i Path:s
core.ServicePort Name:s Protocol:s AppProtocol:*s Port:i TargetPort:n NodePort:i
core.ServiceSpec Type:s Ports:[core.ServicePort Selector:{s ClusterIP:s ClusterIPs:[s IPFamilies:[s IPFamilyPolicy:*s ExternalName:s ExternalIPs:[s LoadBalancerIP:s SessionAffinity:s SessionAffinityConfig:*core.SessionAffinityConfig LoadBalancerSourceRanges:[s ExternalTrafficPolicy:s HealthCheckNodePort:i PublishNotReadyAddresses:b AllocateLoadBalancerNodePorts:*b LoadBalancerClass:*s InternalTrafficPolicy:*s TrafficDistribution:*s
core.ServiceStatus LoadBalancer:core.LoadBalancerStatus Conditions:[meta.Condition
core.SessionAffinityConfig ClientIP:*core.ClientIPConfig
core.SleepAction Seconds:i
core.StorageOSPersistentVolumeSource VolumeName:s VolumeNamespace:s FSType:s ReadOnly:b SecretRef:*core.ObjectReference
core.StorageOSVolumeSource VolumeName:s VolumeNamespace:s FSType:s ReadOnly:b SecretRef:*core.LocalObjectReference
core.Sysctl Name:s Value:s
core.TCPSocketAction Port:n Host:s
core.Taint Key:s Value:s Effect:s TimeAdded:*t
core.Toleration Key:s Operator:s Value:s Effect:s TolerationSeconds:*i
core.TopologySelectorLabelRequirement Key:s Values:[s
core.TopologySelectorTerm MatchLabelExpressions:[core.TopologySelectorLabelRequirement
core.TopologySpreadConstraint MaxSkew:i TopologyKey:s WhenUnsatisfiable:s LabelSelector:*meta.LabelSelector MinDomains:*i NodeAffinityPolicy:*s NodeTaintsPolicy:*s MatchLabelKeys:[s
core.TypedLocalObjectReference APIGroup:*s Kind:s Name:s
core.TypedObjectReference APIGroup:*s Kind:s Name:s Namespace:*s
core.Volume Name:s ^core.VolumeSource
core.VolumeDevice Name:s DevicePath:s
core.VolumeMount Name:s ReadOnly:b RecursiveReadOnly:*s MountPath:s SubPath:s MountPropagation:*s SubPathExpr:s
core.VolumeMountStatus Name:s MountPath:s ReadOnly:b RecursiveReadOnly:*s VolumeStatus:*core.VolumeStatus
core.VolumeNodeAffinity Required:*core.NodeSelector
core.VolumeProjection Secret:*core.SecretProjection DownwardAPI:*core.DownwardAPIProjection ConfigMap:*core.ConfigMapProjection ServiceAccountToken:*core.ServiceAccountTokenProjection ClusterTrustBundle:*core.ClusterTrustBundleProjection PodCertificate:*core.PodCertificateProjection
core.VolumeResourceRequirements Limits:{q Requests:{q
core.VolumeSource HostPath:*core.HostPathVolumeSource EmptyDir:*core.EmptyDirVolumeSource GCEPersistentDisk:*core.GCEPersistentDiskVolumeSource AWSElasticBlockStore:*core.AWSElasticBlockStoreVolumeSource GitRepo:*core.GitRepoVolumeSource Secret:*core.SecretVolumeSource NFS:*core.NFSVolumeSource ISCSI:*core.ISCSIVolumeSource Glusterfs:*core.GlusterfsVolumeSource PersistentVolumeClaim:*core.PersistentVolumeClaimVolumeSource RBD:*core.RBDVolumeSource Quobyte:*core.QuobyteVolumeSource FlexVolume:*core.FlexVolumeSource Cinder:*core.CinderVolumeSource CephFS=cephfs:*core.CephFSVolumeSource Flocker:*core.FlockerVolumeSource DownwardAPI:*core.DownwardAPIVolumeSource FC:*core.FCVolumeSource AzureFile:*core.AzureFileVolumeSource ConfigMap:*core.ConfigMapVolumeSource VsphereVolume:*core.VsphereVirtualDiskVolumeSource AzureDisk:*core.AzureDiskVolumeSource PhotonPersistentDisk:*core.PhotonPersistentDiskVolumeSource Projected:*core.ProjectedVolumeSource PortworxVolume:*core.PortworxVolumeSource ScaleIO:*core.ScaleIOVolumeSource StorageOS=storageos:*core.StorageOSVolumeSource CSI:*core.CSIVolumeSource Ephemeral:*core.EphemeralVolumeSource Image:*core.ImageVolumeSource
core.VolumeStatus Image:*core.ImageVolumeStatus
core.VsphereVirtualDiskVolumeSource VolumePath:s FSType:s StoragePolicyName:s StoragePolicyID:s
core.WeightedPodAffinityTerm Weight:i PodAffinityTerm:core.PodAffinityTerm
discovery.Endpoint Addresses:[s Conditions:discovery.EndpointConditions Hostname:*s TargetRef:*core.ObjectReference DeprecatedTopology:{s NodeName:*s Zone:*s Hints:*discovery.EndpointHints
discovery.EndpointConditions Ready:*b Serving:*b Terminating:*b
discovery.EndpointHints ForZones:[discovery.ForZone ForNodes:[discovery.ForNode
discovery.EndpointPort Name:*s Protocol:*s Port:*i AppProtocol:*s
discovery.EndpointSlice ^meta.ObjectMeta AddressType:s Endpoints:[discovery.Endpoint Ports:[discovery.EndpointPort
discovery.ForNode Name:s
discovery.ForZone Name:s
flowcontrol.ExemptPriorityLevelConfiguration NominalConcurrencyShares:*i LendablePercent:*i
flowcontrol.FlowDistinguisherMethod Type:s
flowcontrol.FlowSchema ^meta.ObjectMeta Spec:flowcontrol.FlowSchemaSpec Status:flowcontrol.FlowSchemaStatus
flowcontrol.FlowSchemaCondition Type:s Status:s LastTransitionTime:t Reason:s Message:s
flowcontrol.FlowSchemaSpec PriorityLevelConfiguration:flowcontrol.PriorityLevelConfigurationReference MatchingPrecedence:i DistinguisherMethod:*flowcontrol.FlowDistinguisherMethod Rules:[flowcontrol.PolicyRulesWithSubjects
flowcontrol.FlowSchemaStatus Conditions:[flowcontrol.FlowSchemaCondition
flowcontrol.GroupSubject Name:s
flowcontrol.LimitResponse Type:s Queuing:*flowcontrol.QueuingConfiguration
flowcontrol.LimitedPriorityLevelConfiguration NominalConcurrencyShares:i LimitResponse:flowcontrol.LimitResponse LendablePercent:*i BorrowingLimitPercent:*i
flowcontrol.NonResourcePolicyRule Verbs:[s NonResourceURLs:[s
flowcontrol.PolicyRulesWithSubjects Subjects:[flowcontrol.Subject ResourceRules:[flowcontrol.ResourcePolicyRule NonResourceRules:[flowcontrol.NonResourcePolicyRule
flowcontrol.PriorityLevelConfiguration ^meta.ObjectMeta Spec:flowcontrol.PriorityLevelConfigurationSpec Status:flowcontrol.PriorityLevelConfigurationStatus
flowcontrol.PriorityLevelConfigurationCondition Type:s Status:s LastTransitionTime:t Reason:s Message:s
flowcontrol.PriorityLevelConfigurationReference Name:s
flowcontrol.PriorityLevelConfigurationSpec Type:s Limited:*flowcontrol.LimitedPriorityLevelConfiguration Exempt:*flowcontrol.ExemptPriorityLevelConfiguration
flowcontrol.PriorityLevelConfigurationStatus Conditions:[flowcontrol.PriorityLevelConfigurationCondition
flowcontrol.QueuingConfiguration Queues:i HandSize:i QueueLengthLimit:i
flowcontrol.ResourcePolicyRule Verbs:[s APIGroups:[s Resources:[s ClusterScope:b Namespaces:[s
flowcontrol.ServiceAccountSubject Namespace:s Name:s
flowcontrol.Subject Kind:s User:*flowcontrol.UserSubject Group:*flowcontrol.GroupSubject ServiceAccount:*flowcontrol.ServiceAccountSubject
flowcontrol.UserSubject Name:s
meta.APIGroup name:s versions:[meta.GroupVersionForDiscovery preferredVersion?:meta.GroupVersionForDiscovery serverAddressByClientCIDRs?:[meta.ServerAddressByClientCIDR
meta.APIResource name:s singularName:s namespaced:b group?:s version?:s kind:s verbs:s shortNames?:[s categories?:[s storageVersionHash?:s
meta.APIVersions versions:[s serverAddressByClientCIDRs:[meta.ServerAddressByClientCIDR
meta.Condition type:s status:s observedGeneration?:i lastTransitionTime:t reason:s message:s
meta.Duration ^s
meta.FieldSelectorRequirement key:s operator:s values?:[s
meta.FieldsV1 -:y
meta.GroupKind group:s kind:s
meta.GroupResource group:s resource:s
meta.GroupVersion group:s version:s
meta.GroupVersionForDiscovery groupVersion:s version:s
meta.GroupVersionKind group:s version:s kind:s
meta.GroupVersionResource group:s version:s resource:s
meta.LabelSelector matchLabels?:{s matchExpressions?:[meta.LabelSelectorRequirement
meta.LabelSelectorRequirement key:s operator:s values?:[s
meta.ManagedFieldsEntry manager?:s operation?:s apiVersion?:s time?:*t fieldsType?:s fieldsV1?:*r subresource?:s
meta.MicroTime ^s
meta.ObjectMeta name?:s generateName?:s namespace?:s selfLink?:s uid?:s resourceVersion?:s generation?:i creationTimestamp?:t deletionTimestamp?:*t deletionGracePeriodSeconds?:*i labels?:{s annotations?:{s ownerReferences?:[meta.OwnerReference finalizers?:[s managedFields?:[meta.ManagedFieldsEntry
meta.OwnerReference apiVersion:s kind:s name:s uid:s controller?:*b blockOwnerDeletion?:*b
meta.PartialObjectMetadata ^meta.ObjectMeta
meta.Preconditions uid?:*s resourceVersion?:*s
meta.RootPaths paths:[s
meta.ServerAddressByClientCIDR clientCIDR:s serverAddress:s
meta.ShardInfo selector:s
meta.Status ^meta.ListMeta status?:s message?:s reason?:s details?:*meta.StatusDetails code?:i
meta.StatusCause reason?:s message?:s field?:s
meta.StatusDetails name?:s group?:s kind?:s uid?:s causes?:[meta.StatusCause retryAfterSeconds?:i
meta.Table ^meta.ListMeta columnDefinitions:[meta.TableColumnDefinition rows:[meta.TableRow
meta.TableColumnDefinition name:s type:s format:s description:s priority:i
meta.TableRow cells:[s conditions?:[meta.TableRowCondition object?:r
meta.TableRowCondition type:s status:s reason?:s message?:s
meta.Time ^s
meta.Timestamp seconds:i nanos:i
meta.WatchEvent type:s object:r
networking.HTTPIngressPath Path:s PathType:*s Backend:networking.IngressBackend
networking.HTTPIngressRuleValue Paths:[networking.HTTPIngressPath
networking.IPAddress ^meta.ObjectMeta Spec:networking.IPAddressSpec
networking.IPAddressSpec ParentRef:*networking.ParentReference
networking.IPBlock CIDR:s Except:[s
networking.Ingress ^meta.ObjectMeta Spec:networking.IngressSpec Status:networking.IngressStatus
networking.IngressBackend Service:*networking.IngressServiceBackend Resource:*core.TypedLocalObjectReference
networking.IngressClass ^meta.ObjectMeta Spec:networking.IngressClassSpec
networking.IngressClassParametersReference APIGroup:*s Kind:s Name:s Scope:*s Namespace:*s
networking.IngressClassSpec Controller:s Parameters:*networking.IngressClassParametersReference
networking.IngressLoadBalancerIngress IP:s Hostname:s Ports:[networking.IngressPortStatus
networking.IngressLoadBalancerStatus Ingress:[networking.IngressLoadBalancerIngress
networking.IngressPortStatus Port:i Protocol:s Error:*s
networking.IngressRule Host:s ^networking.IngressRuleValue
networking.IngressRuleValue HTTP:*networking.HTTPIngressRuleValue
networking.IngressServiceBackend Name:s Port:networking.ServiceBackendPort
networking.IngressSpec IngressClassName:*s DefaultBackend:*networking.IngressBackend TLS:[networking.IngressTLS Rules:[networking.IngressRule
networking.IngressStatus LoadBalancer:networking.IngressLoadBalancerStatus
networking.IngressTLS Hosts:[s SecretName:s
networking.NetworkPolicy ^meta.ObjectMeta Spec:networking.NetworkPolicySpec
networking.NetworkPolicyEgressRule Ports:[networking.NetworkPolicyPort To:[networking.NetworkPolicyPeer
networking.NetworkPolicyIngressRule Ports:[networking.NetworkPolicyPort From:[networking.NetworkPolicyPeer
networking.NetworkPolicyPeer PodSelector:*meta.LabelSelector NamespaceSelector:*meta.LabelSelector IPBlock:*networking.IPBlock
networking.NetworkPolicyPort Protocol:*s Port:*n EndPort:*i
networking.NetworkPolicySpec PodSelector:meta.LabelSelector Ingress:[networking.NetworkPolicyIngressRule Egress:[networking.NetworkPolicyEgressRule PolicyTypes:[s
networking.ParentReference Group:s Resource:s Namespace:s Name:s
networking.ServiceBackendPort Name:s Number:i
networking.ServiceCIDR ^meta.ObjectMeta Spec:networking.ServiceCIDRSpec Status:networking.ServiceCIDRStatus
networking.ServiceCIDRSpec CIDRs=cidrs:[s
networking.ServiceCIDRStatus Conditions:[meta.Condition
node.Overhead PodFixed:{q
node.RuntimeClass ^meta.ObjectMeta Handler:s Overhead:*node.Overhead Scheduling:*node.Scheduling
node.Scheduling NodeSelector:{s Tolerations:[core.Toleration
policy.Eviction ^meta.ObjectMeta DeleteOptions:*meta.DeleteOptions
policy.PodDisruptionBudget ^meta.ObjectMeta Spec:policy.PodDisruptionBudgetSpec Status:policy.PodDisruptionBudgetStatus
policy.PodDisruptionBudgetSpec MinAvailable:*n Selector:*meta.LabelSelector MaxUnavailable:*n UnhealthyPodEvictionPolicy:*s
policy.PodDisruptionBudgetStatus ObservedGeneration:i DisruptedPods:{t DisruptionsAllowed:i CurrentHealthy:i DesiredHealthy:i ExpectedPods:i Conditions:[meta.Condition
rbac.AggregationRule ClusterRoleSelectors:[meta.LabelSelector
rbac.ClusterRole ^meta.ObjectMeta Rules:[rbac.PolicyRule AggregationRule:*rbac.AggregationRule
rbac.ClusterRoleBinding ^meta.ObjectMeta Subjects:[rbac.Subject RoleRef:rbac.RoleRef
rbac.PolicyRule Verbs:[s APIGroups:[s Resources:[s ResourceNames:[s NonResourceURLs:[s
rbac.Role ^meta.ObjectMeta Rules:[rbac.PolicyRule
rbac.RoleBinding ^meta.ObjectMeta Subjects:[rbac.Subject RoleRef:rbac.RoleRef
rbac.RoleRef APIGroup:s Kind:s Name:s
rbac.Subject Kind:s APIGroup:s Name:s Namespace:s
resource.AllocatedDeviceStatus Driver:s Pool:s Device:s ShareID:*s Conditions:[meta.Condition Data:*r NetworkData:*resource.NetworkDeviceData
resource.AllocationResult Devices:resource.DeviceAllocationResult NodeSelector:*core.NodeSelector AllocationTimestamp:*t
resource.CELDeviceSelector Expression:s
resource.CapacityRequestPolicy Default:*q ValidValues:[q ValidRange:*resource.CapacityRequestPolicyRange
resource.CapacityRequestPolicyRange Min:*q Max:*q Step:*q
resource.CapacityRequirements Requests:{q
resource.Counter Value:q
resource.CounterSet Name:s Counters:{resource.Counter
resource.Device Name:s Attributes:{resource.DeviceAttribute Capacity:{resource.DeviceCapacity ConsumesCounters:[resource.DeviceCounterConsumption NodeName:*s NodeSelector:*core.NodeSelector AllNodes:*b Taints:[resource.DeviceTaint BindsToNode:*b BindingConditions:[s BindingFailureConditions:[s AllowMultipleAllocations:*b NodeAllocatableResourceMappings:{resource.NodeAllocatableResourceMapping
resource.DeviceAllocationConfiguration Source:s Requests:[s ^resource.DeviceConfiguration
resource.DeviceAllocationResult Results:[resource.DeviceRequestAllocationResult Config:[resource.DeviceAllocationConfiguration
resource.DeviceAttribute IntValue=int:*i BoolValue=bool:*b StringValue=string:*s VersionValue=version:*s IntValues=ints:[i BoolValues=bools:[b StringValues=strings:[s VersionValues=versions:[s
resource.DeviceCapacity Value:q RequestPolicy:*resource.CapacityRequestPolicy
resource.DeviceClaim Requests:[resource.DeviceRequest Constraints:[resource.DeviceConstraint Config:[resource.DeviceClaimConfiguration
resource.DeviceClaimConfiguration Requests:[s ^resource.DeviceConfiguration
resource.DeviceClass ^meta.ObjectMeta Spec:resource.DeviceClassSpec
resource.DeviceClassConfiguration ^resource.DeviceConfiguration
resource.DeviceClassSpec Selectors:[resource.DeviceSelector Config:[resource.DeviceClassConfiguration ExtendedResourceName:*s
resource.DeviceConfiguration Opaque:*resource.OpaqueDeviceConfiguration
resource.DeviceConstraint Requests:[s MatchAttribute:*s DistinctAttribute:*s
resource.DeviceCounterConsumption CounterSet:s Counters:{resource.Counter
resource.DeviceRequest Name:s Exactly:*resource.ExactDeviceRequest FirstAvailable:[resource.DeviceSubRequest
resource.DeviceRequestAllocationResult Request:s Driver:s Pool:s Device:s AdminAccess:*b Tolerations:[resource.DeviceToleration BindingConditions:[s BindingFailureConditions:[s ShareID:*s ConsumedCapacity:{q
resource.DeviceSelector CEL:*resource.CELDeviceSelector
resource.DeviceSubRequest Name:s DeviceClassName:s Selectors:[resource.DeviceSelector AllocationMode:s Count:i Tolerations:[resource.DeviceToleration Capacity:*resource.CapacityRequirements
resource.DeviceTaint Key:s Value:s Effect:s TimeAdded:*t
resource.DeviceTaintRule ^meta.ObjectMeta Spec:resource.DeviceTaintRuleSpec Status:resource.DeviceTaintRuleStatus
resource.DeviceTaintRuleSpec DeviceSelector:*resource.DeviceTaintSelector Taint:resource.DeviceTaint
resource.DeviceTaintRuleStatus Conditions:[meta.Condition
resource.DeviceTaintSelector Driver:*s Pool:*s Device:*s
resource.DeviceToleration Key:s Operator:s Value:s Effect:s TolerationSeconds:*i
resource.ExactDeviceRequest DeviceClassName:s Selectors:[resource.DeviceSelector AllocationMode:s Count:i AdminAccess:*b Tolerations:[resource.DeviceToleration Capacity:*resource.CapacityRequirements
resource.NetworkDeviceData InterfaceName:s IPs=ips:[s HardwareAddress:s
resource.NodeAllocatableResourceMapping CapacityKey:*s AllocationMultiplier:*q
resource.OpaqueDeviceConfiguration Driver:s Parameters:r
resource.PoolStatus Driver:s PoolName:s Generation:i ResourceSliceCount:*i TotalDevices:*i AllocatedDevices:*i AvailableDevices:*i UnavailableDevices:*i NodeName:*s ValidationError:*s
resource.ResourceClaim ^meta.ObjectMeta Spec:resource.ResourceClaimSpec Status:resource.ResourceClaimStatus
resource.ResourceClaimConsumerReference APIGroup:s Resource:s Name:s UID:s
resource.ResourceClaimSpec Devices:resource.DeviceClaim
resource.ResourceClaimStatus Allocation:*resource.AllocationResult ReservedFor:[resource.ResourceClaimConsumerReference Devices:[resource.AllocatedDeviceStatus
resource.ResourceClaimTemplate ^meta.ObjectMeta Spec:resource.ResourceClaimTemplateSpec
resource.ResourceClaimTemplateSpec ^meta.ObjectMeta Spec:resource.ResourceClaimSpec
resource.ResourcePool Name:s Generation:i ResourceSliceCount:i
resource.ResourcePoolStatusRequest ^meta.ObjectMeta Spec:resource.ResourcePoolStatusRequestSpec Status:*resource.ResourcePoolStatusRequestStatus
resource.ResourcePoolStatusRequestSpec Driver:s PoolName:*s Limit:*i
resource.ResourcePoolStatusRequestStatus PoolCount:*i Pools:[resource.PoolStatus Conditions:[meta.Condition
resource.ResourceSlice ^meta.ObjectMeta Spec:resource.ResourceSliceSpec
resource.ResourceSliceSpec Driver:s Pool:resource.ResourcePool NodeName:*s NodeSelector:*core.NodeSelector AllNodes:*b Devices:[resource.Device PerDeviceNodeSelection:*b SharedCounters:[resource.CounterSet
scheduling.BasicSchedulingPolicy 
scheduling.GangSchedulingPolicy MinCount:i
scheduling.PodGroup ^meta.ObjectMeta Spec:scheduling.PodGroupSpec Status:scheduling.PodGroupStatus
scheduling.PodGroupResourceClaim Name:s ResourceClaimName:*s ResourceClaimTemplateName:*s
scheduling.PodGroupResourceClaimStatus Name:s ResourceClaimName:*s
scheduling.PodGroupSchedulingConstraints Topology:[scheduling.TopologyConstraint
scheduling.PodGroupSchedulingPolicy Basic:*scheduling.BasicSchedulingPolicy Gang:*scheduling.GangSchedulingPolicy
scheduling.PodGroupSpec PodGroupTemplateRef:*scheduling.PodGroupTemplateReference SchedulingPolicy:scheduling.PodGroupSchedulingPolicy SchedulingConstraints:*scheduling.PodGroupSchedulingConstraints ResourceClaims:[scheduling.PodGroupResourceClaim DisruptionMode:*s PriorityClassName:s Priority:*i
scheduling.PodGroupStatus Conditions:[meta.Condition ResourceClaimStatuses:[scheduling.PodGroupResourceClaimStatus
scheduling.PodGroupTemplate Name:s SchedulingPolicy:scheduling.PodGroupSchedulingPolicy SchedulingConstraints:*scheduling.PodGroupSchedulingConstraints ResourceClaims:[scheduling.PodGroupResourceClaim DisruptionMode:*s PriorityClassName:s Priority:*i
scheduling.PodGroupTemplateReference Workload:*scheduling.WorkloadPodGroupTemplateReference
scheduling.PriorityClass ^meta.ObjectMeta Value:i GlobalDefault:b Description:s PreemptionPolicy:*s
scheduling.TopologyConstraint Key:s
scheduling.TypedLocalObjectReference APIGroup:s Kind:s Name:s
scheduling.Workload ^meta.ObjectMeta Spec:scheduling.WorkloadSpec
scheduling.WorkloadPodGroupTemplateReference WorkloadName:s PodGroupTemplateName:s
scheduling.WorkloadSpec ControllerRef:*scheduling.TypedLocalObjectReference PodGroupTemplates:[scheduling.PodGroupTemplate
storage.CSIDriver ^meta.ObjectMeta Spec:storage.CSIDriverSpec
storage.CSIDriverSpec AttachRequired:*b FSGroupPolicy:*s PodInfoOnMount:*b VolumeLifecycleModes:[s StorageCapacity:*b TokenRequests:[storage.TokenRequest RequiresRepublish:*b SELinuxMount:*b NodeAllocatableUpdatePeriodSeconds:*i ServiceAccountTokenInSecrets:*b PreventPodSchedulingIfMissing:*b
storage.CSINode ^meta.ObjectMeta Spec:storage.CSINodeSpec
storage.CSINodeDriver Name:s NodeID:s TopologyKeys:[s Allocatable:*storage.VolumeNodeResources
storage.CSINodeSpec Drivers:[storage.CSINodeDriver
storage.CSIStorageCapacity ^meta.ObjectMeta NodeTopology:*meta.LabelSelector StorageClassName:s Capacity:*q MaximumVolumeSize:*q
storage.StorageClass ^meta.ObjectMeta Provisioner:s Parameters:{s ReclaimPolicy:*s MountOptions:[s AllowVolumeExpansion:*b VolumeBindingMode:*s AllowedTopologies:[core.TopologySelectorTerm
storage.TokenRequest Audience:s ExpirationSeconds:*i
storage.VolumeAttachment ^meta.ObjectMeta Spec:storage.VolumeAttachmentSpec Status:storage.VolumeAttachmentStatus
storage.VolumeAttachmentSource PersistentVolumeName:*s InlineVolumeSpec:*core.PersistentVolumeSpec
storage.VolumeAttachmentSpec Attacher:s Source:storage.VolumeAttachmentSource NodeName:s
storage.VolumeAttachmentStatus Attached:b AttachmentMetadata:{s AttachError:*storage.VolumeError DetachError:*storage.VolumeError
storage.VolumeAttributesClass ^meta.ObjectMeta DriverName:s Parameters:{s
storage.VolumeError Time:t Message:s ErrorCode:*i
storage.VolumeNodeResources Count:*i
storagemigration.StorageVersionMigration ^meta.ObjectMeta Spec:storagemigration.StorageVersionMigrationSpec Status:storagemigration.StorageVersionMigrationStatus
storagemigration.StorageVersionMigrationSpec Resource:meta.GroupResource
storagemigration.StorageVersionMigrationStatus Conditions:[meta.Condition ResourceVersion:s
`
