import { isInScopes, type QuotaEvaluator, scopeSelectors } from '#api/core/v1/quota/evaluator.ts'
import { filtered, increase, pick, sum, withoutZeros } from '#api/core/v1/quota/quantities.ts'
import type { Quantities } from '#api/core/v1/resources.ts'
import type { V1ScopedResourceSelectorRequirement } from '#api/core/v1/types.gen.ts'
import { unknownFailure } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { type LimitedResource, limitedNames, limitedScopes, scopesText } from '#apiserver/admission/resource-quota/limited-resources.ts'
import type { QuotaState } from '#apiserver/admission/resource-quota/quota-state.ts'

/**
 * The quotas as they are after the request; the same list when it uses nothing of them.
 * Throws when one of them has no room for it, or cannot tell.
 */
export function checkRequest(
  request: AdmissionRequest,
  evaluator: QuotaEvaluator,
  states: readonly QuotaState[],
  limited: readonly LimitedResource[] = [],
): readonly QuotaState[] {
  const object = request.object as KubernetesObject
  const concerned = states.filter((state) => isConcerned(state, evaluator, object))
  for (const state of concerned) mustBeCountable(request, evaluator, state, object)

  const used = evaluator.usage(object)
  const negative = Object.keys(filtered(used, (amount) => amount.sign < 0))
  if (negative.length > 0) throw forbid(request, `quota usage is negative for resource(s): ${negative.sort().join(',')}`)
  const more = usageOfUpdate(request, evaluator, used)
  const deltas = new Map<QuotaState, Quantities>()
  for (const state of concerned) {
    // An object that comes into the scope of a quota is new to it.
    const isNew = request.oldObject === undefined || !isConcerned(state, evaluator, request.oldObject)
    const delta = withoutZeros(isNew ? used : more)
    if (Object.keys(delta).length > 0) deltas.set(state, delta)
  }
  const isUnused = concerned.length > 0 ? deltas.size === 0 : Object.keys(withoutZeros(more)).length === 0
  if (isUnused) return states

  mustBeCovered(request, evaluator, used, states, concerned, limited)
  if (concerned.length === 0) return states
  return states.map((state) => {
    const delta = deltas.get(state)
    return delta === undefined ? state : { ...state, used: usageAfter(request, state, delta) }
  })
}

function isConcerned({ quota, hard }: QuotaState, evaluator: QuotaEvaluator, object: KubernetesObject): boolean {
  return evaluator.matchingNames(Object.keys(hard)).length > 0 && isInScopes(evaluator, quota, object)
}

function mustBeCountable(
  request: AdmissionRequest,
  evaluator: QuotaEvaluator,
  { quota, hard, used }: QuotaState,
  object: KubernetesObject,
) {
  const names = evaluator.matchingNames(Object.keys(hard))
  const quotaName = quota.metadata.name ?? ''
  const missing = evaluator.missing?.(object, names)
  if (missing !== undefined) throw forbid(request, `failed quota: ${quotaName}: ${missing}`)
  if (names.some((name) => used[name] === undefined)) {
    throw forbid(request, `status unknown for quota: ${quotaName}, resources: ${names.sort().join(',')}`)
  }
}

/** What an object uses more than before; all of it if it was not stored before. */
function usageOfUpdate({ operation, oldObject }: AdmissionRequest, evaluator: QuotaEvaluator, used: Quantities): Quantities {
  if (operation !== 'UPDATE' || !oldObject?.metadata?.resourceVersion) return used
  return increase(used, evaluator.usage(oldObject))
}

function mustBeCovered(
  request: AdmissionRequest,
  evaluator: QuotaEvaluator,
  used: Quantities,
  states: readonly QuotaState[],
  concerned: readonly QuotaState[],
  limited: readonly LimitedResource[],
): void {
  if (limited.length === 0) return
  const object = request.object as KubernetesObject
  const covered = new Set(concerned.flatMap(({ hard }) => evaluator.matchingNames(Object.keys(hard))))
  const uncovered = [...new Set(limitedNames(used, evaluator, limited))].filter((name) => !covered.has(name))
  if (uncovered.length > 0) throw forbid(request, `insufficient quota to consume: ${uncovered.sort().join(',')}`)

  const isMatched = (selector: V1ScopedResourceSelectorRequirement) => evaluator.isInScope?.(object, selector) ?? false
  const coveredScopes = new Set(states.flatMap(({ quota }) => scopeSelectors(quota).filter(isMatched)).map(({ scopeName }) => scopeName))
  const uncoveredScopes = limitedScopes(object, evaluator, limited).filter(({ scopeName }) => !coveredScopes.has(scopeName))
  if (uncoveredScopes.length > 0) throw unknownFailure(`insufficient quota to match these scopes: ${scopesText(uncoveredScopes)}`)
}

function usageAfter(request: AdmissionRequest, { quota, hard, used }: QuotaState, delta: Quantities): Quantities {
  const requested = pick(delta, Object.keys(hard))
  const after = sum(used, requested)
  // A status tells what is the case already.
  if (request.subresource === 'status') return after
  const exceeded = Object.keys(requested).filter((name) => {
    const [amount, limit] = [after[name], hard[name]]
    return amount !== undefined && limit !== undefined && amount.compare(limit) > 0
  })
  if (exceeded.length === 0) return after
  const shown = (amounts: Quantities) => amountsText(pick(amounts, exceeded))
  const numbers = `requested: ${shown(requested)}, used: ${shown(used)}, limited: ${shown(hard)}`
  throw forbid(request, `exceeded quota: ${quota.metadata.name ?? ''}, ${numbers}`)
}

const amountsText = (amounts: Quantities): string =>
  Object.keys(amounts)
    .sort()
    .map((name) => `${name}=${amounts[name]}`)
    .join(',')
