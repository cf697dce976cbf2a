/** Resources that may not be used at all where no quota is set for them, as the plugin's configuration says. */
import type { QuotaEvaluator } from '#api/core/v1/quota/evaluator.ts'
import type { Quantities } from '#api/core/v1/resources.ts'
import type { V1ScopedResourceSelectorRequirement } from '#api/core/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'

export type LimitedResource = {
  apiGroup?: string
  resource: string
  /** Parts of names: what is used under such a name needs a quota. */
  matchContains?: string[]
  matchScopes?: V1ScopedResourceSelectorRequirement[]
}

export type QuotaConfiguration = { limitedResources?: LimitedResource[] }

export function limitedNames(used: Quantities, evaluator: QuotaEvaluator, limited: readonly LimitedResource[]): string[] {
  const names: string[] = []
  for (const { apiGroup = '', resource, matchContains = [] } of limited) {
    if (apiGroup !== evaluator.group || resource !== evaluator.resource) continue
    for (const [name, amount] of Object.entries(used)) {
      if (amount.sign > 0 && matchContains.some((part) => name.includes(part))) names.push(name)
    }
  }
  return names
}

export function limitedScopes(
  object: KubernetesObject,
  evaluator: QuotaEvaluator,
  limited: readonly LimitedResource[],
): V1ScopedResourceSelectorRequirement[] {
  return limited.flatMap(({ matchScopes = [] }) => matchScopes.filter((selector) => evaluator.isInScope?.(object, selector) ?? false))
}

/** As upstream prints them: `[{PriorityClass In [high]}]`. */
export function scopesText(scopes: readonly V1ScopedResourceSelectorRequirement[]): string {
  return `[${scopes.map(({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(' ')}]}`).join(' ')}]`
}
