/** Validates affinities of pods to nodes and to each other. */
import { validateNodeSelector, validateNodeSelectorTerm } from '#api/core/v1/pod-spec/node-selectors.ts'
import { validateLabelKeys } from '#api/core/v1/pod-spec/validate-topology-spread.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1Affinity, V1NodeAffinity, V1PodAffinity, V1PodAffinityTerm } from '#api/core/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { validateLabelSelector } from '#api/meta/labels.ts'
import { dns1123Label, mustBe, qualifiedName } from '#api/meta/names.ts'

const required = 'requiredDuringSchedulingIgnoredDuringExecution'
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution'

/** `check` stands at the affinity. */
export function validateAffinity(check: Check<V1Affinity>, options: PodValidationOptions): void {
  const affinity = check.value
  if (affinity.nodeAffinity) validateNodeAffinity(check.at('nodeAffinity').present, options)
  const allowInvalidValues = options.allowInvalidLabelValueInSelector
  if (affinity.podAffinity) validatePodAffinity(check.at('podAffinity').present, allowInvalidValues)
  if (affinity.podAntiAffinity) validatePodAffinity(check.at('podAntiAffinity').present, allowInvalidValues)
}

function validateNodeAffinity(check: Check<V1NodeAffinity>, options: PodValidationOptions): void {
  const affinity = check.value
  const must = affinity.requiredDuringSchedulingIgnoredDuringExecution
  if (must) validateNodeSelector(check.at(required).present, options.allowInvalidLabelValueInNodeAffinity)
  for (const at of check.at(preferred).items()) {
    validateWeight(at.at('weight').or(0))
    if (at.value.preference) validateNodeSelectorTerm(at.at('preference'), true)
  }
}

function validateWeight(check: Check<number>): void {
  if (check.value <= 0 || check.value > 100) check.invalid('must be in the range 1-100')
}

/** Anti-affinity has the same shape and the same rules. */
function validatePodAffinity(check: Check<V1PodAffinity>, allowInvalidValues: boolean): void {
  for (const at of check.at(required).items()) validatePodAffinityTerm(at, allowInvalidValues)
  for (const at of check.at(preferred).items()) {
    validateWeight(at.at('weight').or(0))
    validatePodAffinityTerm(at.at('podAffinityTerm').or({ topologyKey: '' }), allowInvalidValues)
  }
}

function validatePodAffinityTerm(check: Check<V1PodAffinityTerm>, allowInvalidValues: boolean): void {
  const term = check.value
  validateTermSelectors(check, allowInvalidValues)
  for (const name of term.namespaces ?? []) mustBe(dns1123Label, check.dynamic('namespace').with(name))
  validateLabelKeys(term.matchLabelKeys ?? [], term.mismatchLabelKeys ?? [], term.labelSelector, check)
  if (!term.topologyKey) check.at('topologyKey').required('can not be empty')
  mustBe(qualifiedName, check.at('topologyKey').or(''))
}

function validateTermSelectors(check: Check<V1PodAffinityTerm>, allowInvalidValues: boolean): void {
  validateLabelSelector(check.at('labelSelector'), { allowInvalidValues })
  validateLabelSelector(check.at('namespaceSelector'), { allowInvalidValues })
}

/** Whether an update must let such values pass, because the stored spec already has them. */
export function hasInvalidTermSelector(affinity: V1Affinity | undefined): boolean {
  const check = new Check()
  for (const each of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const term of each?.requiredDuringSchedulingIgnoredDuringExecution ?? []) validateTermSelectors(check.with(term), false)
    for (const { podAffinityTerm } of each?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
      if (podAffinityTerm) validateTermSelectors(check.with(podAffinityTerm), false)
    }
  }
  return check.failed
}
