/** Which objects a policy, or a binding of one, is about. */
import { defaultRules, validateNamedRule } from '#api/admissionregistration/v1/rules.ts'
import type { V1MatchResources } from '#api/admissionregistration/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { each } from '#api/meta/each.ts'
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

export function validateMatchResources(match: V1MatchResources | undefined, check: Check): void {
  if (match == null) return
  if (match.matchPolicy == null) check.at('matchPolicy').required()
  else if (!matchPolicies.includes(match.matchPolicy)) check.at('matchPolicy').notSupported(match.matchPolicy, matchPolicies)
  for (const field of ['namespaceSelector', 'objectSelector'] as const) {
    if (match[field] == null) check.at(field).required()
    else validateLabelSelector(match[field], check.at(field))
  }
  each(match.resourceRules, check.at('resourceRules'), validateNamedRule)
  each(match.excludeResourceRules, check.at('excludeResourceRules'), validateNamedRule)
}

/** Types are known through the rules, so that a policy needs one. */
export function validateMatchConstraints(match: V1MatchResources | undefined, check: Check): void {
  if (match == null) {
    check.required()
    return
  }
  validateMatchResources(match, check)
  if (!match.resourceRules?.length) check.at('resourceRules').required()
}

const mutatingOperations = ['*', 'CONNECT', 'CREATE', 'UPDATE']

/** What is deleted cannot be changed. */
export function validateMutatingOperations(match: V1MatchResources | undefined, check: Check): void {
  for (const rule of match?.resourceRules ?? []) {
    for (const operation of rule.operations ?? []) {
      if (!mutatingOperations.includes(operation)) check.at('resourceRules.operations').notSupported(operation, mutatingOperations)
    }
  }
}
