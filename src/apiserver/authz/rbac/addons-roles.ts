/** What `typernetes addons` may do: names, metrics, Ingress and Gateways, addresses of load balancers. Manifests of users are applied by somebody else. */
import { type DefaultObject, defaultObject } from '#apiserver/authz/rbac/default-roles.ts'
import type { PolicyRule } from '#apiserver/authz/rbac/rbac-objects.ts'

export const addonsUser = 'typernetes:addons'

const reading = ['get', 'list', 'watch']
const gateways = ['gatewayclasses', 'gateways', 'grpcroutes', 'httproutes']
const ownRoles = ['typernetes:aggregated-metrics-reader']

const everywhere: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['namespaces', 'nodes', 'pods', 'services'], verbs: reading },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: reading },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
  // Usage of nodes and pods is asked for by way of the API server; who may read it is said by a role.
  { apiGroups: [''], resources: ['nodes/proxy'], verbs: ['get'] },
  { apiGroups: ['metrics.k8s.io'], resources: ['nodes', 'pods'], verbs: reading },
  { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], resourceNames: ownRoles, verbs: ['create', 'get', 'patch'] },
  {
    ...{ apiGroups: ['apiregistration.k8s.io'], resources: ['apiservices'], resourceNames: ['v1beta1.metrics.k8s.io'] },
    verbs: ['create', 'get', 'patch'],
  },
  // Certificates of Ingresses and Gateways may be in any namespace.
  { apiGroups: [''], resources: ['secrets'], verbs: reading },
  { apiGroups: ['networking.k8s.io'], resources: ['ingresses'], verbs: reading },
  { apiGroups: ['networking.k8s.io'], resources: ['ingressclasses'], verbs: [...reading, 'create'] },
  { apiGroups: ['networking.k8s.io'], resources: ['ingresses/status'], verbs: ['patch'] },
  { apiGroups: ['gateway.networking.k8s.io'], resources: [...gateways, 'referencegrants'], verbs: reading },
  { apiGroups: ['gateway.networking.k8s.io'], resources: ['gatewayclasses'], verbs: ['create'] },
  { apiGroups: ['gateway.networking.k8s.io'], resources: gateways.map((name) => `${name}/status`), verbs: ['update'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: reading },
  // Load balancers: an address, and the node that answers for it.
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: reading },
  { apiGroups: [''], resources: ['services', 'services/status'], verbs: ['patch'] },
]

const leases = ['typernetes-addons', 'typernetes-dns', 'typernetes-load-balancer', 'typernetes-metrics']
const served = ['kube-dns', 'metrics-server']

const inSystem: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['configmaps'], resourceNames: ['coredns', 'kube-dns'], verbs: reading },
  { apiGroups: [''], resources: ['services'], resourceNames: served, verbs: ['create', 'delete', 'patch', 'update'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], resourceNames: served, verbs: ['create', 'delete', 'patch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: leases, verbs: ['update'] },
  // Whoever lets nodes write leases of load balancers must be allowed to do so.
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create', 'delete', 'get', 'patch'] },
  {
    ...{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'], resourceNames: ['typernetes:load-balancer'] },
    verbs: ['create', 'get', 'patch'],
  },
]

/** A cluster of an earlier version gets them from the first API server of this one. */
export function addonsRbacObjects(): DefaultObject[] {
  const [name, namespace, subjects] = [addonsUser, 'kube-system', [`User/${addonsUser}`]]
  return [
    defaultObject({ kind: 'ClusterRole', name, rules: everywhere }),
    defaultObject({ kind: 'ClusterRoleBinding', name, role: `ClusterRole/${name}`, subjects }),
    defaultObject({ kind: 'Role', namespace, name, rules: inSystem }),
    defaultObject({ kind: 'RoleBinding', namespace, name, role: `Role/${name}`, subjects }),
    defaultObject({
      ...{ kind: 'RoleBinding', namespace, name: `${name}-authentication-reader`, subjects },
      role: 'Role/extension-apiserver-authentication-reader',
    }),
  ]
}
