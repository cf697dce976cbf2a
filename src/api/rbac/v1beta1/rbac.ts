import { legacyVersion } from '#api/meta/legacy-version.ts'
import { ClusterRole } from '#api/rbac/v1/cluster-role.ts'
import { ClusterRoleBinding } from '#api/rbac/v1/cluster-role-binding.ts'
import { Role } from '#api/rbac/v1/role.ts'
import { RoleBinding } from '#api/rbac/v1/role-binding.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const old = { version: 'v1beta1', deprecated: { deprecatedIn: '1.17', removedIn: '1.22' } } as const

export const rbacV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(ClusterRoleBinding, old),
  legacyVersion(ClusterRole, old),
  legacyVersion(RoleBinding, old),
  legacyVersion(Role, old),
]
