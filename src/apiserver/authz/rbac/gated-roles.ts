import { type DefaultObject, defaultObject, defaultRbacObjects } from '#apiserver/authz/rbac/default-roles.ts'
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
  {
    gate: 'DRAResourcePoolStatus',
    account: 'resourcepoolstatusrequest-controller',
    rules: [
      { apiGroups: ['resource.k8s.io'], resources: ['resourcepoolstatusrequests'], verbs: ['delete', 'get', 'list', 'watch'] },
      { apiGroups: ['resource.k8s.io'], resources: ['resourcepoolstatusrequests/status'], verbs: ['patch', 'update'] },
      { apiGroups: ['resource.k8s.io'], resources: ['resourceslices'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['resource.k8s.io'], resources: ['resourceclaims'], verbs: ['get', 'list', 'watch'] },
      events,
    ],
  },
  {
    gate: 'GenericWorkload',
    account: 'podgroup-protection-controller',
    rules: [
      { apiGroups: ['scheduling.k8s.io'], resources: ['podgroups'], verbs: ['get', 'list', 'update', 'watch'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
    ],
  },
]

/** What a controller that always runs may do besides where a feature is on. */
const gatedRules: readonly { gate: string; role: string; rules: readonly PolicyRule[] }[] = [
  {
    gate: 'DRADeviceTaintRules',
    role: 'system:controller:device-taint-eviction-controller',
    rules: [
      { apiGroups: ['resource.k8s.io'], resources: ['devicetaintrules/status'], verbs: ['patch', 'update'] },
      { apiGroups: ['resource.k8s.io'], resources: ['devicetaintrules'], verbs: ['get', 'list', 'watch'] },
    ],
  },
]

/** The roles and bindings of every cluster, and those that come with features. */
export function rbacObjects(isEnabled: (gate: string) => boolean): DefaultObject[] {
  const more = Map.groupBy(
    gatedRules.filter(({ gate }) => isEnabled(gate)),
    ({ role }) => role,
  )
  const everywhere = defaultRbacObjects().map((each): DefaultObject => {
    const added = each.kind === 'ClusterRole' ? more.get(each.object.metadata.name) : undefined
    if (added === undefined || each.kind !== 'ClusterRole') return each
    return { kind: each.kind, object: { ...each.object, rules: [...(each.object.rules ?? []), ...added.flatMap(({ rules }) => rules)] } }
  })
  const withFeatures = gated
    .filter(({ gate }) => isEnabled(gate))
    .flatMap(({ account, rules }) => {
      const name = `system:controller:${account}`
      const subjects = [`ServiceAccount/kube-system/${account}`]
      return [
        defaultObject({ kind: 'ClusterRole', name, rules }),
        defaultObject({ kind: 'ClusterRoleBinding', name, role: `ClusterRole/${name}`, subjects }),
      ]
    })
  return [...everywhere, ...withFeatures]
}
