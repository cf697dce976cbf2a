import { legacyVersion } from '#api/meta/legacy-version.ts'
import { clusterRoleResource } from '#api/rbac/v1/cluster-role.ts'
import { clusterRoleBindingResource } from '#api/rbac/v1/cluster-role-binding.ts'
import { roleResource } from '#api/rbac/v1/role.ts'
import { roleBindingResource } from '#api/rbac/v1/role-binding.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const old = { version: 'v1beta1', deprecated: { deprecatedIn: '1.17', removedIn: '1.22' } } as const

export const rbacV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(clusterRoleBindingResource, old),
  legacyVersion(clusterRoleResource, old),
  legacyVersion(roleBindingResource, old),
  legacyVersion(roleResource, old),
]
