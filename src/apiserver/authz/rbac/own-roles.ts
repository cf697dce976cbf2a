import { type DefaultObject, defaultObject } from '#apiserver/authz/rbac/default-roles.ts'
import type { PolicyRule } from '#apiserver/authz/rbac/rbac-objects.ts'

const reading = ['get', 'list', 'watch']
const writing = ['create', 'delete', 'patch', 'update']
const storageGroup = 'storage.k8s.io'

/** What upstream's sidecars of CSI drivers and its snapshot controller may do, and calls of drivers through their nodes. */
const storageRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: [...reading, ...writing] },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: [...reading, 'patch', 'update'] },
  { apiGroups: [''], resources: ['persistentvolumes/status', 'persistentvolumeclaims/status'], verbs: ['patch', 'update'] },
  { apiGroups: [''], resources: ['nodes', 'pods', 'secrets'], verbs: reading },
  { apiGroups: [''], resources: ['nodes/proxy'], verbs: ['create'] },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: reading },
  { apiGroups: [storageGroup], resources: ['csidrivers', 'storageclasses'], verbs: [...reading, 'create'] },
  { apiGroups: [storageGroup], resources: ['csinodes', 'volumeattributesclasses'], verbs: reading },
  { apiGroups: [storageGroup], resources: ['volumeattachments'], verbs: [...reading, 'patch', 'update'] },
  { apiGroups: [storageGroup], resources: ['volumeattachments/status'], verbs: ['patch', 'update'] },
  { apiGroups: [storageGroup], resources: ['csistoragecapacities'], verbs: [...reading, ...writing] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: [...reading, 'create', 'patch'] },
  { apiGroups: ['snapshot.storage.k8s.io'], resources: ['*'], verbs: [...reading, ...writing] },
]

/** Heapster is reached through the proxy of its service, as long ago. */
const heapsterRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['services/proxy'], resourceNames: ['http:heapster:', 'https:heapster:'], verbs: ['get'] },
]

/** What upstream's recommender and updater may do, and that their kinds are installed here. */
const verticalRules: readonly PolicyRule[] = [
  { apiGroups: ['autoscaling.k8s.io', 'poc.autoscaling.k8s.io'], resources: ['*'], verbs: [...reading, ...writing] },
  { apiGroups: [''], resources: ['limitranges', 'nodes', 'pods', 'replicationcontrollers'], verbs: reading },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: [''], resources: ['pods/resize'], verbs: ['patch'] },
  { apiGroups: ['apps', 'batch', 'extensions'], resources: ['*'], verbs: reading },
  { apiGroups: ['*'], resources: ['*/scale'], verbs: reading },
  { apiGroups: ['metrics.k8s.io'], resources: ['pods'], verbs: ['get', 'list'] },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: [...reading, 'create', 'patch'] },
]

/** What upstream's manifests of these programs grant. */
const deschedulerRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['configmaps', 'namespaces', 'nodes', 'persistentvolumeclaims', 'pods'], verbs: reading },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: reading },
  { apiGroups: ['scheduling.k8s.io'], resources: ['priorityclasses'], verbs: reading },
  { apiGroups: ['metrics.k8s.io'], resources: ['nodes', 'pods'], verbs: ['get', 'list'] },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
]
const proportionalRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['configmaps', 'nodes'], verbs: reading },
  { apiGroups: [''], resources: ['replicationcontrollers/scale'], verbs: ['get', 'update'] },
  { apiGroups: ['apps'], resources: ['deployments/scale', 'replicasets/scale', 'statefulsets/scale'], verbs: ['get', 'update'] },
]
const resizerRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['nodes', 'pods'], verbs: reading },
  { apiGroups: ['apps'], resources: ['deployments'], verbs: [...reading, 'patch'] },
]

const own: readonly { name: string; account: string; rules: readonly PolicyRule[] }[] = [
  { name: 'typernetes:storage', account: 'typernetes-storage', rules: storageRules },
  { name: 'typernetes:vpa-recommender', account: 'vpa-recommender', rules: verticalRules },
  { name: 'typernetes:vpa-updater', account: 'vpa-updater', rules: verticalRules },
  { name: 'typernetes:descheduler', account: 'descheduler', rules: deschedulerRules },
  { name: 'typernetes:cluster-proportional-autoscaler', account: 'cluster-proportional-autoscaler', rules: proportionalRules },
  { name: 'typernetes:addon-resizer', account: 'addon-resizer', rules: resizerRules },
  { name: 'typernetes:heapster-reader', account: 'horizontal-pod-autoscaler', rules: heapsterRules },
]

/** The roles of parts that upstream has in programs of their own, or had, bound to the service accounts that they have here. */
export function ownRbacObjects(): DefaultObject[] {
  return own.flatMap(({ name, account, rules }) => [
    defaultObject({ kind: 'ClusterRole', name, rules }),
    defaultObject({ kind: 'ClusterRoleBinding', name, role: `ClusterRole/${name}`, subjects: [`ServiceAccount/kube-system/${account}`] }),
  ])
}
