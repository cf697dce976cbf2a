import { type DefaultObject, defaultObject } from '#apiserver/authz/rbac/default-roles.ts'
import type { PolicyRule } from '#apiserver/authz/rbac/rbac-objects.ts'

const events = { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] }

/** What a controller may do that runs only where its feature is on. */
const gated: readonly { gate: string; account: string; rules: readonly PolicyRule[] }[] = [
  {
    // Upstream asks for APIServerIdentity as well, which is on unless somebody turns it off.
    gate: 'StorageVersionAPI',
    account: 'storage-version-garbage-collector',
    rules: [
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'watch'] },
      {
        apiGroups: ['internal.apiserver.k8s.io'],
        resources: ['storageversions'],
        verbs: ['delete', 'get', 'list', 'patch', 'update', 'watch'],
      },
      { apiGroups: ['internal.apiserver.k8s.io'], resources: ['storageversions/status'], verbs: ['get', 'patch', 'update'] },
    ],
  },
  {
    gate: 'StorageVersionMigrator',
    account: 'storage-version-migrator-controller',
    rules: [
      { apiGroups: ['*'], resources: ['*'], verbs: ['create', 'list', 'patch'] },
      { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['get'] },
      { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions/status'], verbs: ['patch'] },
      { apiGroups: ['storagemigration.k8s.io'], resources: ['storageversionmigrations/status'], verbs: ['update'] },
    ],
  },
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
