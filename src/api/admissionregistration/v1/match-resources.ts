/** Which objects a policy, or a binding of one, is about. */
import { defaultRules, validateNamedRule } from '#api/admissionregistration/v1/rules.ts'
import type { V1MatchResources } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { validateLabelSelector } from '#api/meta/labels.ts'

export function defaultMatchResources(match: V1MatchResources | undefined): void {
  if (match == null) return
  match.matchPolicy ??= 'Equivalent'
  match.namespaceSelector ??= {}
  match.objectSelector ??= {}
  defaultRules(match.resourceRules)
  defaultRules(match.excludeResourceRules)
}

export const matchPolicies = ['Equivalent', 'Exact']

export function validateMatchResources(check: Check<V1MatchResources | undefined>): void {
  const match = check.value
  if (match == null) return
  if (match.matchPolicy == null) check.at('matchPolicy').required()
  else if (!matchPolicies.includes(match.matchPolicy)) check.at('matchPolicy').notSupported(matchPolicies)
  for (const field of ['namespaceSelector', 'objectSelector'] as const) {
    if (match[field] == null) check.at(field).required()
    else validateLabelSelector(check.at(field).with(match[field]))
  }
  check.at('resourceRules').each(validateNamedRule)
  check.at('excludeResourceRules').each(validateNamedRule)
}

/** Types are known through the rules, so that a policy needs one. */
export function validateMatchConstraints(check: Check<V1MatchResources | undefined>): void {
  const match = check.value
  if (match == null) {
    check.required()
    return
  }
  validateMatchResources(check)
  if (!match.resourceRules?.length) check.at('resourceRules').required()
}

const mutatingOperations = ['*', 'CONNECT', 'CREATE', 'UPDATE']

/** What is deleted cannot be changed. */
export function validateMutatingOperations(check: Check<V1MatchResources | undefined>): void {
  const match = check.value
  for (const rule of match?.resourceRules ?? []) {
    for (const operation of rule.operations ?? []) {
      if (!mutatingOperations.includes(operation))
        check.at('resourceRules').dynamic('operations').notSupported(mutatingOperations, operation)
    }
  }
}
