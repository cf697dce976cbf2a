/** What a role grants: verbs on resources, or on paths that are none. */
import type { Check } from '#api/meta/check.ts'
import type { V1PolicyRule } from '#api/rbac/v1/types.gen.ts'

export function validatePolicyRule(check: Check<V1PolicyRule>, scope: 'Namespaced' | 'Cluster'): void {
  const rule = check.value
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule
  if (!verbs?.length) check.at('verbs').required('verbs must contain at least one value')
  if (nonResourceURLs?.length) {
    const urls = check.at('nonResourceURLs')
    if (scope === 'Namespaced') urls.invalid('namespaced rules cannot apply to non-resource URLs')
    if (apiGroups?.length || resources?.length || resourceNames?.length) {
      urls.invalid('rules cannot apply to both regular resources and non-resource URLs')
    }
    return
  }
  if (!apiGroups?.length) check.at('apiGroups').required('resource rules must supply at least one api group')
  if (!resources?.length) check.at('resources').required('resource rules must supply at least one resource')
}
