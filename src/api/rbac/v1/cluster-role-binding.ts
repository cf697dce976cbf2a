import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { bindingColumns, defaultBinding, validateBinding, validateRoleRefUpdate } from '#api/rbac/v1/binding.ts'
import { ClusterRoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import { rbacName } from '#api/rbac/v1/role.ts'
import { defineResource } from '#api/resource.ts'

/** Grants a cluster role everywhere. */
export const clusterRoleBindingResource = defineResource(ClusterRoleBinding, {
  nameRule: rbacName,
  generation: false,
  rejudgesMetadata: false,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  columns: bindingColumns('ClusterRoleBinding'),

  defaults: defaultBinding,
  validate: (binding, check) => validateBinding(binding, check, 'Cluster'),
  validateUpdate(next, prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Cluster', nameRule: rbacName }, check.at('metadata'))
    validateBinding(next, check, 'Cluster')
    validateObjectMetaUpdate(next.metadata, prev.metadata, check.at('metadata'))
    validateRoleRefUpdate(next.roleRef, prev.roleRef, check)
  },
})
