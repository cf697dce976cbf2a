import { bindingColumns, bindingRules } from '#api/rbac/v1/binding.ts'
import { RoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import type { V1RoleBinding } from '#api/rbac/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Grants a role, or a cluster role, within one namespace. */
export const roleBindingResource = defineResource(RoleBinding, {
  ...bindingRules<V1RoleBinding>('Namespaced'),
  columns: bindingColumns('RoleBinding'),
})
