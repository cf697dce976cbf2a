import { Check } from '#api/meta/check.ts'
import { defaultColumns } from '#api/meta/columns.ts'
import { each } from '#api/meta/each.ts'
import { type LabelSelectorOptions, validateLabelSelector } from '#api/meta/labels.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import { ClusterRole } from '#api/rbac/v1/kinds.gen.ts'
import { validatePolicyRule } from '#api/rbac/v1/policy-rule.ts'
import { rbacName } from '#api/rbac/v1/role.ts'
import type { V1ClusterRole } from '#api/rbac/v1/types.gen.ts'
import { defineResource } from '#api/resource.ts'

/** Permissions on cluster-scoped resources, in all namespaces, or in the namespace of the binding that refers to them. */
export const clusterRoleResource = defineResource(ClusterRole, {
  nameRule: rbacName,
  generation: false,
  rejudgesMetadata: false,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  columns: defaultColumns,

  validate: (role, check) => validateRole(role, check, {}),
  validateUpdate(next, prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Cluster', nameRule: rbacName }, check.at('metadata'))
    validateRole(next, check, {
      allowInvalidValues: (prev.aggregationRule?.clusterRoleSelectors ?? []).some(isInvalid),
    })
    validateObjectMetaUpdate(next.metadata, prev.metadata, check.at('metadata'))
  },
})

function validateRole({ rules, aggregationRule }: V1ClusterRole, check: Check, options: LabelSelectorOptions): void {
  each(rules, check.at('rules'), (rule, item) => validatePolicyRule(rule, 'Cluster', item))
  if (aggregationRule == null) return
  const selectors = check.at('aggregationRule.clusterRoleSelectors')
  if (!aggregationRule.clusterRoleSelectors?.length) {
    selectors.required('at least one clusterRoleSelector required if aggregationRule is non-nil')
  }
  each(aggregationRule.clusterRoleSelectors, selectors, (selector, item) => {
    validateLabelSelector(selector, item, options)
    // What is shown is the selector that could not be made.
    if (isInvalid(selector)) item.invalid(null, 'invalid label selector.')
  })
}

function isInvalid(selector: V1LabelSelector): boolean {
  const scratch = new Check()
  validateLabelSelector(selector, scratch)
  return scratch.failed
}
