/** What tables say of columns that show an object within the object: the typings of the client have no words for those fields. */
export const columnTexts: Readonly<Record<string, string>> = {
  'Event.involvedObject': 'What the event happened to.',
  'Event.source': 'Which component, on which node, tells of the event.',
  'PersistentVolumeSpec.claimRef': 'The claim that the volume is bound to, or kept for; the claim names the volume in turn.',
  'DaemonSetSpec.selector': 'The labels of the pods that belong to the daemon set; those of its pod template have them.',
  'DeploymentSpec.selector':
    'The labels of the pods, and so of the replica sets, that belong to the deployment; those of its pod template have them.',
  'ReplicaSetSpec.selector': 'The labels of the pods that the replica set counts as its own; those of its pod template have them.',
  'HorizontalPodAutoscalerSpec.scaleTargetRef': 'What is scaled: its pods are measured, and its replicas are set.',
  'JobSpec.selector': 'The labels of the pods that count for the job; the server chooses them unless told otherwise.',
  'IPAddressSpec.parentRef': 'The object that has been given the address; there is always one.',
  'NetworkPolicySpec.podSelector':
    'The pods of the namespace that the policy is about; all of them when it is empty. Where several policies are about a pod, it may do what any of them allows.',
  'ClusterRoleBinding.roleRef': 'The cluster role that is granted; while there is none of that name, nothing is.',
  'RoleBinding.roleRef': 'The role of this namespace, or the cluster role, that is granted; while there is none of that name, nothing is.',
  'PodGroupSpec.schedulingPolicy': 'How the pods of the group are scheduled; copied from the template of the group, and never changed.',
  'FlowSchemaSpec.distinguisherMethod': 'What tells the flows of the schema apart: the user, the namespace, or nothing.',
  'LeaseCandidateSpec.leaseName': 'The lease that the candidate would like to hold; never changed.',
}
