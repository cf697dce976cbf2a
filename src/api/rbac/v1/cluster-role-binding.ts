import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { bindingColumns, defaultBinding, validateBinding, validateRoleRefUpdate } from '#api/rbac/v1/binding.ts'
import { rbacName } from '#api/rbac/v1/role.ts'
import type { V1ClusterRoleBinding } from '#api/rbac/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Grants a cluster role everywhere. */
export const ClusterRoleBinding = defineResource<V1ClusterRoleBinding>({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  scope: 'Cluster',
  schema: 'io.k8s.api.rbac.v1.ClusterRoleBinding',
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
