/** Judges affinities of pods to nodes and to each other. */
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
export function validateAffinity(affinity: V1Affinity, check: Check, options: PodValidationOptions): void {
  if (affinity.nodeAffinity) validateNodeAffinity(affinity.nodeAffinity, check.at('nodeAffinity'), options)
  const allowInvalidValues = options.allowInvalidLabelValueInSelector
  if (affinity.podAffinity) validatePodAffinity(affinity.podAffinity, check.at('podAffinity'), allowInvalidValues)
  if (affinity.podAntiAffinity) validatePodAffinity(affinity.podAntiAffinity, check.at('podAntiAffinity'), allowInvalidValues)
}

function validateNodeAffinity(affinity: V1NodeAffinity, check: Check, options: PodValidationOptions): void {
  const must = affinity.requiredDuringSchedulingIgnoredDuringExecution
  if (must) validateNodeSelector(must, check.at(required), options.allowInvalidLabelValueInNodeAffinity)
  for (const [index, { weight = 0, preference }] of (affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const at = check.at(preferred).at(index)
    validateWeight(weight, at)
    if (preference) validateNodeSelectorTerm(preference, at.at('preference'), true)
  }
}

function validateWeight(weight: number, check: Check): void {
  if (weight <= 0 || weight > 100) check.at('weight').invalid(weight, 'must be in the range 1-100')
}

/** Anti-affinity has the same shape and the same rules. */
function validatePodAffinity(affinity: V1PodAffinity, check: Check, allowInvalidValues: boolean): void {
  for (const [index, term] of (affinity.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    validatePodAffinityTerm(term, check.at(required).at(index), allowInvalidValues)
  }
  for (const [index, { weight = 0, podAffinityTerm }] of (affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const at = check.at(preferred).at(index)
    validateWeight(weight, at)
    validatePodAffinityTerm(podAffinityTerm ?? { topologyKey: '' }, at.at('podAffinityTerm'), allowInvalidValues)
  }
}

function validatePodAffinityTerm(term: V1PodAffinityTerm, check: Check, allowInvalidValues: boolean): void {
  validateTermSelectors(term, check, allowInvalidValues)
  for (const name of term.namespaces ?? []) mustBe(dns1123Label, name, check.at('namespace'))
  validateLabelKeys(term.matchLabelKeys ?? [], term.mismatchLabelKeys ?? [], term.labelSelector, check)
  const topologyKey = term.topologyKey ?? ''
  if (topologyKey === '') check.at('topologyKey').required('can not be empty')
  mustBe(qualifiedName, topologyKey, check.at('topologyKey'))
}

function validateTermSelectors(term: V1PodAffinityTerm, check: Check, allowInvalidValues: boolean): void {
  validateLabelSelector(term.labelSelector, check.at('labelSelector'), { allowInvalidValues })
  validateLabelSelector(term.namespaceSelector, check.at('namespaceSelector'), { allowInvalidValues })
}

/** Whether an update must let such values pass, because the stored spec already has them. */
export function hasInvalidTermSelector(affinity: V1Affinity | undefined): boolean {
  const check = new Check()
  for (const each of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const term of each?.requiredDuringSchedulingIgnoredDuringExecution ?? []) validateTermSelectors(term, check, false)
    for (const { podAffinityTerm } of each?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
      if (podAffinityTerm) validateTermSelectors(podAffinityTerm, check, false)
    }
  }
  return check.failed
}
