import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { bindingColumns, defaultBinding, validateBinding, validateRoleRefUpdate } from '#api/rbac/v1/binding.ts'
import { rbacName } from '#api/rbac/v1/role.ts'
import type { V1RoleBinding } from '#api/rbac/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Grants a role, or a cluster role, within one namespace. */
export const RoleBinding = defineResource<V1RoleBinding>({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  scope: 'Namespaced',
  schema: 'io.k8s.api.rbac.v1.RoleBinding',
  nameRule: rbacName,
  generation: false,
  rejudgesMetadata: false,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  columns: bindingColumns('RoleBinding'),

  defaults: defaultBinding,
  validate: (binding, check) => validateBinding(binding, check, 'Namespaced'),
  validateUpdate(next, prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Namespaced', nameRule: rbacName }, check.at('metadata'))
    validateBinding(next, check, 'Namespaced')
    validateObjectMetaUpdate(next.metadata, prev.metadata, check.at('metadata'))
    validateRoleRefUpdate(next.roleRef, prev.roleRef, check)
  },
})
