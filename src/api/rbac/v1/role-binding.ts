import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { bindingColumns, defaultBinding, validateBinding, validateRoleRefUpdate } from '#api/rbac/v1/binding.ts'
import { RoleBinding } from '#api/rbac/v1/kinds.gen.ts'
import { rbacName } from '#api/rbac/v1/role.ts'
import { defineResource } from '#api/resource.ts'

/** Grants a role, or a cluster role, within one namespace. */
export const roleBindingResource = defineResource(RoleBinding, {
  nameRule: rbacName,
  generation: false,
  revalidatesMetadata: false,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  columns: bindingColumns('RoleBinding'),

  defaults: defaultBinding,
  validate: (_binding, check) => validateBinding(check, 'Namespaced'),
  validateUpdate(next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: rbacName })
    validateBinding(check, 'Namespaced')
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
    validateRoleRefUpdate(next.roleRef, prev.roleRef, check)
  },
})
