import { equalityOf, sameObjectMeta } from '#api/meta/equality.ts'
import { ClusterRoleBinding, ClusterRole as ClusterRoleKind } from '#api/rbac/v1/kinds.gen.ts'
import { uncoveredRules } from '#apiserver/authz/rbac/covers.ts'
import type { ClusterRole, RoleBinding, Subject } from '#apiserver/authz/rbac/rbac-objects.ts'
import { defined } from '#base/defined.ts'

const sameSelector = equalityOf(ClusterRoleKind).at('aggregationRule').at('clusterRoleSelectors').each

/** What has to be done so that what exists gives at least what is expected. */
export type Reconciliation<T> =
  | { readonly action: 'none' }
  | { readonly action: 'create' | 'update'; readonly object: T }
  /** A binding's role cannot be changed: the binding is deleted and made anew. */
  | { readonly action: 'recreate'; readonly object: T }

const none = { action: 'none' } as const
export const autoUpdateAnnotation = 'rbac.authorization.kubernetes.io/autoupdate'

/** Missing rules, labels, annotations and selectors are added, nothing is taken away; roles marked autoupdate=false are left alone. */
export function reconciledRole<T extends ClusterRole>(existing: T | undefined, expected: T): Reconciliation<T> {
  if (existing === undefined) return { action: 'create', object: expected }
  if (isProtected(existing)) return none
  const metadata = mergedMetadata(existing, expected)
  const missingRules = uncoveredRules(existing.rules ?? [], expected.rules ?? [])
  const rules = missingRules.length === 0 ? existing.rules : [...(existing.rules ?? []), ...missingRules]
  const aggregationRule = mergedAggregation(existing, expected)
  const isSame = sameObjectMeta(metadata, existing.metadata) && rules === existing.rules && aggregationRule === existing.aggregationRule
  if (isSame) return none
  const { aggregationRule: _, ...rest } = existing
  const object = { ...rest, metadata, rules, ...defined({ aggregationRule }) }
  return { action: 'update', object: object as unknown as T }
}

export function reconciledBinding<T extends RoleBinding>(existing: T | undefined, expected: T): Reconciliation<T> {
  if (existing === undefined) return { action: 'create', object: expected }
  if (isProtected(existing)) return none
  if (!equalityOf(ClusterRoleBinding).at('roleRef')(existing.roleRef, expected.roleRef)) return { action: 'recreate', object: expected }
  const metadata = mergedMetadata(existing, expected)
  const held = existing.subjects ?? []
  const missing = (expected.subjects ?? []).filter((subject) => !held.some((other) => sameSubject(other, subject)))
  if (sameObjectMeta(metadata, existing.metadata) && missing.length === 0) return none
  return {
    action: 'update',
    object: { ...existing, metadata, ...defined({ subjects: missing.length === 0 ? undefined : [...held, ...missing] }) },
  }
}

function isProtected({ metadata }: Pick<ClusterRole, 'metadata'>): boolean {
  return metadata.annotations?.[autoUpdateAnnotation] === 'false'
}

/** What an administrator has set stays as it is. */
function mergedMetadata<T extends Pick<ClusterRole, 'metadata'>>(existing: T, expected: T): T['metadata'] {
  const merged = (key: 'labels' | 'annotations') => {
    const both = { ...expected.metadata[key], ...existing.metadata[key] }
    return Object.keys(both).length === 0 ? {} : { [key]: both }
  }
  return { ...existing.metadata, ...merged('labels'), ...merged('annotations') }
}

function mergedAggregation(existing: ClusterRole, expected: ClusterRole): ClusterRole['aggregationRule'] {
  // A role that is not meant to gather rules would lose its own to the aggregation.
  if (expected.aggregationRule === undefined) return undefined
  const held = existing.aggregationRule?.clusterRoleSelectors ?? []
  const missing = (expected.aggregationRule.clusterRoleSelectors ?? []).filter((wanted) => !held.some((one) => sameSelector(one, wanted)))
  return missing.length === 0 ? existing.aggregationRule : { ...existing.aggregationRule, clusterRoleSelectors: [...held, ...missing] }
}

function sameSubject(left: Subject, right: Subject): boolean {
  const parts = ({ kind, apiGroup = '', name, namespace = '' }: Subject) => [kind, apiGroup, name, namespace].join('\n')
  return parts(left) === parts(right)
}
