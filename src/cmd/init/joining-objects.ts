/** What `kubeadm init` leaves in a cluster, so that nodes can join and tools find what they expect. */
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import type { V1ClusterRole, V1ClusterRoleBinding, V1PolicyRule, V1Role, V1RoleBinding, V1Subject } from '#api/rbac/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
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

const reads = (resource: string, name: string): V1PolicyRule[] => [
  { verbs: ['get'], apiGroups: [''], resources: [resource], resourceNames: [name] },
]

type Reader = { namespace: string; name: string; subjects: V1Subject[] } & ({ map: string } | { secret: string })

const readers: readonly Reader[] = [
  {
    ...{ namespace: 'kube-public', name: 'kubeadm:bootstrap-signer-clusterinfo', map: 'cluster-info' },
    subjects: [{ apiGroup, kind: 'User', name: 'system:anonymous' }],
  },
  { namespace: 'kube-system', name: 'kubeadm:nodes-kubeadm-config', map: 'kubeadm-config', subjects: [joining, nodes] },
  { namespace: 'kube-system', name: 'kubeadm:kubelet-config', map: 'kubelet-config', subjects: [joining, nodes] },
  { namespace: 'kube-system', name: 'typernetes:node-config', map: 'typernetes-node-config', subjects: [joining, nodes] },
  { namespace: 'kube-system', name: 'typernetes:control-plane', map: 'typernetes-control-plane', subjects: [joining] },
  { namespace: 'kube-system', name: 'kubeadm:kubeadm-certs', secret: 'kubeadm-certs', subjects: [joining] },
]

export const joiningRoles: readonly V1Role[] = readers.map(({ namespace, name, ...what }) => ({
  metadata: { namespace, name },
  rules: 'map' in what ? reads('configmaps', what.map) : reads('secrets', what.secret),
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
  /** Undefined with the embedded store. */
  etcd: { external: { endpoints: readonly string[] } } | { local: { dataDir: string } } | undefined
  /** What else a node must know to be one of the cluster. */
  node: object
}

/** What nodes of every cluster join with. */
export const kubeletConfigurationDefaults = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  clusterDomain: 'cluster.local',
  rotateCertificates: true,
}

/** JSON is YAML. */
const yaml = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

export function joiningConfigMaps(facts: JoiningFacts): V1ConfigMap[] {
  const { server, authorityPem, podCidrs, serviceCidrs, clusterDns, etcd, node } = facts
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
        ...defined({ etcd }),
        kubernetesVersion,
        networking: { dnsDomain: 'cluster.local', podSubnet: podCidrs.join(','), serviceSubnet: serviceCidrs },
      }),
    }),
    system('kubelet-config', {
      kubelet: yaml({
        ...kubeletConfigurationDefaults,
        clusterDNS: clusterDns,
      }),
    }),
    system('typernetes-node-config', { node: yaml(node) }),
  ]
}
