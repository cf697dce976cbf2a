import { bindingColumns, bindingRules } from '#api/rbac/v1/binding.ts'
import { ClusterRoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import type { V1ClusterRoleBinding } from '#api/rbac/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Grants a cluster role everywhere. */
export const clusterRoleBindingResource = defineResource(ClusterRoleBinding, {
  ...bindingRules<V1ClusterRoleBinding>('Cluster'),
  columns: bindingColumns('ClusterRoleBinding'),
})
