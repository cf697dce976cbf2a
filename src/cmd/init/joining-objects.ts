/** What `kubeadm init` leaves in a cluster, so that nodes can join and tools find what they expect. */
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import type { V1ClusterRole, V1ClusterRoleBinding, V1PolicyRule, V1Role, V1RoleBinding, V1Subject } from '#api/rbac/v1/types.gen.ts'
import { kubernetesVersion } from '#cmd/version.ts'

/** Bearers of bootstrap tokens. */
export const joiningGroup = 'system:bootstrappers:kubeadm:default-node-token'
const apiGroup = 'rbac.authorization.k8s.io'
const group = (name: string): V1Subject => ({ apiGroup, kind: 'Group', name })
const joining = group(joiningGroup)
const nodes = group('system:nodes')
const watching = ['get', 'list', 'watch']

const clusterBinding = (name: string, role: string, ...subjects: V1Subject[]): V1ClusterRoleBinding => ({
  metadata: { name },
  roleRef: { apiGroup, kind: 'ClusterRole', name: role },
  subjects,
})

/** Who may have what signed, and what a node may see beyond its own. */
export const joiningClusterRoles: readonly V1ClusterRole[] = [
  { metadata: { name: 'kubeadm:get-nodes' }, rules: [{ verbs: ['get'], apiGroups: [''], resources: ['nodes'] }] },
  {
    // Each node serves services and enforces policies for its pods, which depend on pods elsewhere.
    metadata: { name: 'typernetes:joined-nodes' },
    rules: [
      { verbs: watching, apiGroups: [''], resources: ['pods', 'namespaces', 'nodes', 'services', 'endpoints'] },
      { verbs: watching, apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'] },
      { verbs: watching, apiGroups: ['networking.k8s.io'], resources: ['networkpolicies', 'servicecidrs'] },
      { verbs: ['create', 'patch', 'update'], apiGroups: ['', 'events.k8s.io'], resources: ['events'] },
    ],
  },
]

export const joiningClusterRoleBindings: readonly V1ClusterRoleBinding[] = [
  clusterBinding('kubeadm:kubelet-bootstrap', 'system:node-bootstrapper', joining),
  clusterBinding('kubeadm:node-autoapprove-bootstrap', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient', joining),
  clusterBinding(
    'kubeadm:node-autoapprove-certificate-rotation',
    'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient',
    nodes,
  ),
  clusterBinding('kubeadm:get-nodes', 'kubeadm:get-nodes', joining),
  clusterBinding('kubeadm:cluster-admins', 'cluster-admin', group('kubeadm:cluster-admins')),
  clusterBinding('typernetes:joined-nodes', 'typernetes:joined-nodes', nodes),
]

const readsConfigMap = (name: string): V1PolicyRule[] => [
  { verbs: ['get'], apiGroups: [''], resources: ['configmaps'], resourceNames: [name] },
]

const readers: readonly { namespace: string; name: string; map: string; subjects: V1Subject[] }[] = [
  {
    ...{ namespace: 'kube-public', name: 'kubeadm:bootstrap-signer-clusterinfo', map: 'cluster-info' },
    subjects: [{ apiGroup, kind: 'User', name: 'system:anonymous' }],
  },
  { namespace: 'kube-system', name: 'kubeadm:nodes-kubeadm-config', map: 'kubeadm-config', subjects: [joining, nodes] },
  { namespace: 'kube-system', name: 'kubeadm:kubelet-config', map: 'kubelet-config', subjects: [joining, nodes] },
  { namespace: 'kube-system', name: 'typernetes:node-config', map: 'typernetes-node-config', subjects: [joining, nodes] },
]

export const joiningRoles: readonly V1Role[] = readers.map(({ namespace, name, map }) => ({
  metadata: { namespace, name },
  rules: readsConfigMap(map),
}))

export const joiningRoleBindings: readonly V1RoleBinding[] = readers.map(({ namespace, name, subjects }) => ({
  metadata: { namespace, name },
  roleRef: { apiGroup, kind: 'Role', name },
  subjects,
}))

export type JoiningFacts = {
  server: string
  authorityPem: string
  podCidrs: readonly string[]
  serviceCidrs: string
  clusterDns: readonly string[]
  /** What else a node must know to be one of the cluster. */
  node: object
}

/** JSON is YAML. */
const yaml = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

export function joiningConfigMaps(facts: JoiningFacts): V1ConfigMap[] {
  const { server, authorityPem, podCidrs, serviceCidrs, clusterDns, node } = facts
  const cluster = { server, 'certificate-authority-data': Buffer.from(authorityPem).toString('base64') }
  const kubeconfig = { apiVersion: 'v1', kind: 'Config', clusters: [{ name: '', cluster }], contexts: [], users: [], 'current-context': '' }
  const system = (name: string, data: Record<string, string>): V1ConfigMap => ({ metadata: { namespace: 'kube-system', name }, data })
  return [
    { metadata: { namespace: 'kube-public', name: 'cluster-info' }, data: { kubeconfig: yaml(kubeconfig) } },
    system('kubeadm-config', {
      ClusterConfiguration: yaml({
        apiVersion: 'kubeadm.k8s.io/v1beta4',
        kind: 'ClusterConfiguration',
        clusterName: 'kubernetes',
        controlPlaneEndpoint: server.replace('https://', ''),
        kubernetesVersion,
        networking: { dnsDomain: 'cluster.local', podSubnet: podCidrs.join(','), serviceSubnet: serviceCidrs },
      }),
    }),
    system('kubelet-config', {
      kubelet: yaml({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        clusterDNS: clusterDns,
        clusterDomain: 'cluster.local',
        rotateCertificates: true,
      }),
    }),
    system('typernetes-node-config', { node: yaml(node) }),
  ]
}
