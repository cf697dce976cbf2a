/** Which resources are counted, and how. What is not here is counted as objects. */
import { objectCount, type QuotaEvaluator } from '#api/core/v1/quota/evaluator.ts'
import { podEvaluator } from '#api/core/v1/quota/pods.ts'
import { type ResourceClaimLookups, resourceClaimEvaluator } from '#api/core/v1/quota/resource-claims.ts'
import { serviceEvaluator } from '#api/core/v1/quota/services.ts'
import { volumeClaimEvaluator } from '#api/core/v1/quota/volume-claims.ts'
import { type GroupResource, groupResourceText } from '#api/meta/gvk.ts'

export type QuotaEvaluatorOptions = ResourceClaimLookups & { nowMs(): number; isEnabled(featureGate: string): boolean }

export function quotaEvaluators(options: QuotaEvaluatorOptions): QuotaEvaluator[] {
  const core = (resource: string) => ({ group: '', resource })
  return [
    podEvaluator(options.nowMs),
    serviceEvaluator,
    volumeClaimEvaluator,
    resourceClaimEvaluator({ ...options, countsExtendedResources: options.isEnabled('DRAExtendedResource') }),
    ...['configmaps', 'resourcequotas', 'replicationcontrollers', 'secrets'].map((name) => objectCount(core(name), name)),
  ]
}

const uncounted = new Set([
  ...['bindings', 'componentstatuses', 'events', 'events.events.k8s.io'],
  ...['tokenreviews.authentication.k8s.io', 'selfsubjectreviews.authentication.k8s.io'],
  ...['subjectaccessreviews', 'selfsubjectaccessreviews', 'localsubjectaccessreviews', 'selfsubjectrulesreviews'].map(
    (name) => `${name}.authorization.k8s.io`,
  ),
])

/** What is not stored, and events. */
export const isUncounted = (resource: GroupResource): boolean => uncounted.has(groupResourceText(resource))
