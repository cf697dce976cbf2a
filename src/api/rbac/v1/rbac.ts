import { clusterRoleResource } from '#api/rbac/v1/cluster-role.ts'
import { clusterRoleBindingResource } from '#api/rbac/v1/cluster-role-binding.ts'
import { roleResource } from '#api/rbac/v1/role.ts'
import { roleBindingResource } from '#api/rbac/v1/role-binding.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const rbacV1: readonly ResourceDefinition[] = [clusterRoleBindingResource, clusterRoleResource, roleBindingResource, roleResource]
