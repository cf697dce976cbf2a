/** How much of a quota the objects of one resource use: pure functions, shared by admission and the quota controller. */
import type { Quantities } from '#api/core/v1/resources.ts'
import type { V1ResourceQuota, V1ScopedResourceSelectorRequirement } from '#api/core/v1/types.gen.ts'
import { type GroupResource, groupResourceText } from '#api/meta/gvk.ts'
import { quantityOf } from '#api/meta/quantity.ts'
import type { KubernetesObject } from '#api/resource.ts'

export type QuotaWrite = {
  readonly operation: string
  readonly subresource: string
  readonly object: KubernetesObject | undefined
  readonly oldObject: KubernetesObject | undefined
}

export type QuotaEvaluator = GroupResource & {
  /** Whether such a write can change usage at all. */
  handles(write: QuotaWrite): boolean
  /** Those of the names in a quota that are used by objects of this resource. */
  matchingNames(names: readonly string[]): string[]
  usage(object: KubernetesObject): Quantities
  /** Whether the object is in the scope. Absent: objects of this resource are in no scope, and no quota with scopes counts them. */
  isInScope?(object: KubernetesObject, selector: V1ScopedResourceSelectorRequirement): boolean
  /** What the object must say before it can be counted against these names; undefined if it says all. */
  missing?(object: KubernetesObject, names: readonly string[]): string | undefined
  /** Whether usage may have become less without the object having gone. */
  mayHaveShrunk?(next: KubernetesObject, prev: KubernetesObject): boolean
}

/** The name under which any resource is counted: `count/deployments.apps`. */
export const countName = (resource: GroupResource): string => `count/${groupResourceText(resource)}`

export const one = quantityOf(1)

/** Counts objects, whatever they are. */
export function objectCount(resource: GroupResource, alias?: string): QuotaEvaluator {
  const names = [countName(resource), ...(alias === undefined ? [] : [alias])]
  const used = Object.fromEntries(names.map((name) => [name, one]))
  return {
    ...resource,
    handles: ({ operation, subresource }) => operation === 'CREATE' && subresource === '',
    matchingNames: (given) => given.filter((name) => names.includes(name)).sort(),
    usage: () => used,
  }
}

/** The plain list of scopes is short for selectors. */
export function scopeSelectors({ spec }: V1ResourceQuota): V1ScopedResourceSelectorRequirement[] {
  const plain = (spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' }))
  return [...plain, ...(spec?.scopeSelector?.matchExpressions ?? [])]
}

/** Whether the object is in all scopes of the quota; one without scopes is for every object. */
export function isInScopes(evaluator: QuotaEvaluator, quota: V1ResourceQuota, object: KubernetesObject): boolean {
  return scopeSelectors(quota).every((selector) => evaluator.isInScope?.(object, selector) ?? false)
}

/** Whether one of the values, or that there are none, is what the selector asks for. */
export function isSelected(values: readonly string[], { operator, values: wanted = [] }: V1ScopedResourceSelectorRequirement): boolean {
  switch (operator) {
    case 'In':
      return values.some((value) => wanted.includes(value))
    case 'NotIn':
      return values.length === 0 || values.some((value) => !wanted.includes(value))
    case 'Exists':
      return values.length > 0
    case 'DoesNotExist':
      return values.length === 0
    default:
      throw new Error(`failed to parse and convert selector: "${operator}" is not a valid scope selector operator`)
  }
}
