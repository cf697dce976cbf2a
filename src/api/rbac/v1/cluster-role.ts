import { Check } from '#api/meta/check.ts'
import { defaultColumns } from '#api/meta/columns.ts'
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
  revalidatesMetadata: false,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  columns: defaultColumns,

  validate: (_role, check) => validateRole(check, {}),
  validateUpdate(_next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: rbacName })
    validateRole(check, {
      allowInvalidValues: (prev.aggregationRule?.clusterRoleSelectors ?? []).some(isInvalid),
    })
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
  },
})

function validateRole(check: Check<V1ClusterRole>, options: LabelSelectorOptions): void {
  const { aggregationRule } = check.value
  check.at('rules').each((item) => validatePolicyRule(item, 'Cluster'))
  if (aggregationRule == null) return
  const selectors = check.at('aggregationRule').at('clusterRoleSelectors')
  if (!aggregationRule.clusterRoleSelectors?.length) {
    selectors.required('at least one clusterRoleSelector required if aggregationRule is non-nil')
  }
  selectors.each((item) => {
    const selector = item.value
    validateLabelSelector(item, options)
    // What is shown is the selector that could not be made.
    if (isInvalid(selector)) item.invalid('invalid label selector.', null)
  })
}

function isInvalid(selector: V1LabelSelector): boolean {
  const scratch = new Check(selector)
  validateLabelSelector(scratch)
  return scratch.failed
}
