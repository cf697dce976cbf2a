import { ClusterRole } from '#api/rbac/v1/cluster-role.ts'
import { ClusterRoleBinding } from '#api/rbac/v1/cluster-role-binding.ts'
import { Role } from '#api/rbac/v1/role.ts'
import { RoleBinding } from '#api/rbac/v1/role-binding.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const rbacV1: readonly ResourceDefinition[] = [ClusterRoleBinding, ClusterRole, RoleBinding, Role]
