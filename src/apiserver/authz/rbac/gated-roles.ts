import { type DefaultObject, defaultObject } from '#apiserver/authz/rbac/default-roles.ts'
import type { PolicyRule } from '#apiserver/authz/rbac/rbac-objects.ts'

const events = { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] }

/** What a controller may do that runs only where its feature is on. */
const gated: readonly { gate: string; account: string; rules: readonly PolicyRule[] }[] = [
  {
    gate: 'PodCertificateRequest',
    account: 'podcertificaterequestcleaner',
    rules: [{ apiGroups: ['certificates.k8s.io'], resources: ['podcertificaterequests'], verbs: ['delete', 'get', 'list', 'watch'] }],
  },
  {
    gate: 'ClusterTrustBundle',
    account: 'kube-apiserver-serving-clustertrustbundle-publisher',
    rules: [
      {
        apiGroups: ['certificates.k8s.io'],
        resourceNames: ['kubernetes.io/kube-apiserver-serving'],
        resources: ['signers'],
        verbs: ['attest'],
      },
      { apiGroups: ['certificates.k8s.io'], resources: ['clustertrustbundles'], verbs: ['create', 'delete', 'list', 'update', 'watch'] },
      events,
    ],
  },
]

/** The roles and bindings that come with features, beside those of every cluster. */
export function gatedRbacObjects(isEnabled: (gate: string) => boolean): DefaultObject[] {
  return gated
    .filter(({ gate }) => isEnabled(gate))
    .flatMap(({ account, rules }) => {
      const name = `system:controller:${account}`
      const subjects = [`ServiceAccount/kube-system/${account}`]
      return [
        defaultObject({ kind: 'ClusterRole', name, rules }),
        defaultObject({ kind: 'ClusterRoleBinding', name, role: `ClusterRole/${name}`, subjects }),
      ]
    })
}
