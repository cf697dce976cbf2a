import { isInScopes, type QuotaEvaluator } from '#api/core/v1/quota/evaluator.ts'
import { pick, sum } from '#api/core/v1/quota/quantities.ts'
import type { Quantities } from '#api/core/v1/resources.ts'
import type { V1ResourceQuota } from '#api/core/v1/types.gen.ts'
import type { GroupResource } from '#api/meta/gvk.ts'
import { zeroQuantity } from '#api/meta/quantity.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { Steps } from '#base/steps.ts'

const objectsEachStep = 50

/** What all objects of the quota's namespace use of what it limits. Names that nobody counts are left out. */
export function* quotaUsage(
  quota: V1ResourceQuota,
  evaluators: readonly QuotaEvaluator[],
  objectsOf: (resource: GroupResource, namespace: string) => readonly KubernetesObject[],
): Steps<Quantities> {
  const limited = Object.keys(quota.spec?.hard ?? {})
  const namespace = quota.metadata.namespace ?? ''
  let used: Quantities = {}
  for (const evaluator of evaluators) {
    const names = evaluator.matchingNames(limited)
    if (names.length === 0) continue
    used = sum(Object.fromEntries(names.map((name) => [name, zeroQuantity])), used)
    let count = 0
    for (const object of objectsOf(evaluator, namespace)) {
      if (++count % objectsEachStep === 0) yield
      if (isInScopes(evaluator, quota, object)) used = sum(used, pick(evaluator.usage(object), names))
    }
  }
  return used
}
