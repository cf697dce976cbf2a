/** What tables say of columns that show an object within the object: the typings of the client have no words for those fields. */
export const columnTexts: Readonly<Record<string, string>> = {
  'Event.involvedObject': 'The object that this event is about.',
  'Event.source': 'The component reporting this event. Should be a short machine understandable string.',
  'PersistentVolumeSpec.claimRef':
    'claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim. Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding',
  'DaemonSetSpec.selector':
    "A label query over pods that are managed by the daemon set. Must match in order to be controlled. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
  'DeploymentSpec.selector':
    "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels.",
  'ReplicaSetSpec.selector':
    "Selector is a label query over pods that should match the replica count. Label keys and values that must match in order to be controlled by this replica set. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
  'HorizontalPodAutoscalerSpec.scaleTargetRef':
    'scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should be collected, as well as to actually change the replica count.',
  'JobSpec.selector':
    'A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors',
  'IPAddressSpec.parentRef':
    'ParentRef references the resource that an IPAddress is attached to. An IPAddress must reference a parent object.',
  'NetworkPolicySpec.podSelector':
    "podSelector selects the pods to which this NetworkPolicy object applies. The array of rules is applied to any pods selected by this field. An empty selector matches all pods in the policy's namespace. Multiple network policies can select the same set of pods. In this case, the ingress rules for each are combined additively. This field is optional. If it is not specified, it defaults to an empty selector.",
  'ClusterRoleBinding.roleRef':
    'RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.',
  'RoleBinding.roleRef':
    'RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.',
  'PodGroupSpec.schedulingPolicy':
    'SchedulingPolicy defines the scheduling policy for this instance of the PodGroup. Controllers are expected to fill this field by copying it from a PodGroupTemplate. This field is immutable.',
  'FlowSchemaSpec.distinguisherMethod':
    '`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema. `nil` specifies that the distinguisher is disabled and thus will always be the empty string.',
  'LeaseCandidateSpec.leaseName': 'LeaseName is the name of the lease for which this candidate is contending. This field is immutable.',
}
