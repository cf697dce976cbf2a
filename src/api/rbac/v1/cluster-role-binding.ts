import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { bindingColumns, defaultBinding, validateBinding, validateRoleRefUpdate } from '#api/rbac/v1/binding.ts'
import { ClusterRoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import { rbacName } from '#api/rbac/v1/role.ts'
import { defineResource } from '#api/resource.ts'

/** Grants a cluster role everywhere. */
export const clusterRoleBindingResource = defineResource(ClusterRoleBinding, {
  nameRule: rbacName,
  generation: false,
  revalidatesMetadata: false,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  columns: bindingColumns('ClusterRoleBinding'),

  defaults: defaultBinding,
  validate: (_binding, check) => validateBinding(check, 'Cluster'),
  validateUpdate(next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: rbacName })
    validateBinding(check, 'Cluster')
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
    validateRoleRefUpdate(next.roleRef, prev.roleRef, check)
  },
})
