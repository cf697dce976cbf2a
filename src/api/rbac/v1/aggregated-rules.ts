import { type LabelSelector, labelSelectorFrom, nothing } from '#api/meta/selector.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import type { V1ClusterRole, V1PolicyRule } from '#api/rbac/v1/types.gen.ts'

/**
 * The rules a cluster role gathers from those its selectors match: in the order of selectors, then names, each rule once.
 * Undefined when it gathers nothing, and its rules are its own.
 */
export function aggregatedRules(role: V1ClusterRole, all: Iterable<V1ClusterRole>): V1PolicyRule[] | undefined {
  const selectors = role.aggregationRule?.clusterRoleSelectors
  if (role.aggregationRule === undefined) return undefined
  const others = [...all]
    .filter(({ metadata }) => metadata.name !== role.metadata.name)
    .sort((left, right) => ((left.metadata.name ?? '') < (right.metadata.name ?? '') ? -1 : 1))
  const rules = new Map<string, V1PolicyRule>()
  for (const selector of (selectors ?? []).map(compiled)) {
    for (const other of others) {
      if (!selector.matches(other.metadata.labels)) continue
      for (const rule of other.rules ?? []) {
        const key = keyOf(rule)
        if (!rules.has(key)) rules.set(key, rule)
      }
    }
  }
  return [...rules.values()]
}

/** The same for rules that mean the same: a list that is absent is an empty one. */
function keyOf({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs = [] }: V1PolicyRule): string {
  return JSON.stringify([apiGroups, resources, resourceNames, nonResourceURLs, verbs])
}

/** A selector that cannot be understood selects nothing. */
function compiled(selector: V1LabelSelector): LabelSelector {
  try {
    return labelSelectorFrom(selector)
  } catch {
    return nothing
  }
}
