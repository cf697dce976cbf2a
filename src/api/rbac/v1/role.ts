import type { Check } from '#api/meta/check.ts'
import { defaultColumns } from '#api/meta/columns.ts'
import { type NameRule, pathSegmentName } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { Role } from '#api/rbac/v1/kinds.gen.ts'
import { validatePolicyRule } from '#api/rbac/v1/policy-rule.ts'
import type { V1Role } from '#api/rbac/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Roles and bindings may have any name that fits into a path; users name them after groups with colons. */
export const rbacName: NameRule = (name) => pathSegmentName(name)

/** Permissions within one namespace. */
export const roleResource = defineResource(Role, {
  nameRule: rbacName,
  generation: false,
  revalidatesMetadata: false,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  columns: defaultColumns,

  validate: validateRules,
  validateUpdate(next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: rbacName })
    validateRules(next, check)
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
  },
})

function validateRules(_object: V1Role, check: Check<V1Role>): void {
  check.at('rules').each((item) => validatePolicyRule(item, 'Namespaced'))
}
