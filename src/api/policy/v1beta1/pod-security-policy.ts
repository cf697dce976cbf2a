import type { ClusterKind } from '#api/kind.ts'
import { nameColumn } from '#api/meta/columns.ts'
import {
  typeName,
  type V1beta1PodSecurityPolicy,
  type V1beta1PodSecurityPolicySpec,
} from '#api/policy/v1beta1/pod-security-policy-types.ts'
import { validatePolicy } from '#api/policy/v1beta1/validate-pod-security-policy.ts'
import { type Column, defineResource } from '#api/resource.ts'

/** Says what pods may ask of their nodes. Upstream has given it up for the PodSecurity admission plugin, so nothing replaces it. */
export const PodSecurityPolicy: ClusterKind<V1beta1PodSecurityPolicy> = {
  group: 'policy',
  version: 'v1beta1',
  kind: 'PodSecurityPolicy',
  plural: 'podsecuritypolicies',
  shortNames: ['psp'],
  scope: 'Cluster',
  schema: typeName('PodSecurityPolicy'),
  stability: 'legacy',
}

export const podSecurityPolicyResource = defineResource(PodSecurityPolicy, {
  storagePath: 'podsecuritypolicy',
  deprecated: { deprecatedIn: '1.21', removedIn: '1.25' },
  allowUnconditionalUpdate: true,
  returnsDeletedObject: true,
  revalidatesMetadata: false,

  // Policies from before there was the field stay as permissive as they were.
  defaults(policy) {
    policy.spec ??= {} as V1beta1PodSecurityPolicySpec
    policy.spec.allowPrivilegeEscalation ??= true
  },
  validate: validatePolicy,
  validateUpdate: (next, _prev, check) => validatePolicy(next, check),

  columns: [
    nameColumn,
    column('Priv', 'privileged', ({ privileged = false }) => String(privileged)),
    column('Caps', 'allowedCapabilities', ({ allowedCapabilities = [] }) => allowedCapabilities.join(',')),
    column('SELinux', 'seLinux', ({ seLinux }) => seLinux?.rule ?? ''),
    column('RunAsUser', 'runAsUser', ({ runAsUser }) => runAsUser?.rule ?? ''),
    column('FsGroup', 'fsGroup', ({ fsGroup }) => fsGroup?.rule ?? ''),
    column('SupGroup', 'supplementalGroups', ({ supplementalGroups }) => supplementalGroups?.rule ?? ''),
    column('ReadOnlyRootFs', 'readOnlyRootFilesystem', ({ readOnlyRootFilesystem = false }) => readOnlyRootFilesystem),
    column('Volumes', 'volumes', ({ volumes = [] }) => volumes.join(',')),
  ],
})

function column(
  name: string,
  field: string,
  cell: (spec: V1beta1PodSecurityPolicySpec) => string | boolean,
): Column<V1beta1PodSecurityPolicy> {
  return { name, type: 'string', description: { field: `PodSecurityPolicySpec.${field}` }, cell: ({ spec }) => cell(spec) }
}
