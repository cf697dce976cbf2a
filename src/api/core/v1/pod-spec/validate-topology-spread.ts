/** Validates how pods want to be spread over a cluster. */
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1PodAffinityTerm, V1TopologySpreadConstraint } from '#api/core/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { validateLabelSelector } from '#api/meta/labels.ts'
import { mustBe, qualifiedName } from '#api/meta/names.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'

const mustBePositive = 'must be greater than zero'
const actions = ['DoNotSchedule', 'ScheduleAnyway']
const policies = ['Honor', 'Ignore']

/** `check` stands at the list. */
export function validateTopologySpread(check: Check<readonly V1TopologySpreadConstraint[]>, options: PodValidationOptions): void {
  const constraints = check.value
  const keyOf = ({ topologyKey = '', whenUnsatisfiable = '' }: V1TopologySpreadConstraint) => `{${topologyKey}, ${whenUnsatisfiable}}`
  const lastOf = new Map(constraints.map((constraint, index) => [keyOf(constraint), index]))
  for (const [index, constraint] of constraints.entries()) {
    const { maxSkew = 0, topologyKey = '', whenUnsatisfiable = '', minDomains } = constraint
    const at = check.at(index)
    if (maxSkew <= 0) at.at('maxSkew').or(0).invalid(mustBePositive)
    if (topologyKey === '') at.at('topologyKey').required('can not be empty')
    if (!actions.includes(whenUnsatisfiable)) at.at('whenUnsatisfiable').or('').notSupported(actions)
    const key = keyOf(constraint)
    // All but the last of those that are the same.
    if (lastOf.get(key) !== index) at.dynamic('{topologyKey, whenUnsatisfiable}').duplicate(key)
    if (minDomains !== undefined) validateMinDomains(at.at('minDomains').present, whenUnsatisfiable)
    for (const field of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      const policy = constraint[field]
      if (policy !== undefined && !policies.includes(policy)) at.at(field).notSupported(policies)
    }
    validateMatchLabelKeys(at, options)
    if (!options.allowInvalidTopologySpreadSelector) validateLabelSelector(at.at('labelSelector'))
  }
}

function validateMinDomains(check: Check<number>, action: string): void {
  const minDomains = check.value
  if (minDomains <= 0) check.invalid(mustBePositive)
  if (action !== 'DoNotSchedule') {
    check.invalid(`can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`)
  }
}

function validateMatchLabelKeys(check: Check<V1TopologySpreadConstraint>, options: PodValidationOptions): void {
  const constraint = check.value
  const keys = constraint.matchLabelKeys ?? []
  const hasMergedRules = options.allowMatchLabelKeys && options.mergeMatchLabelKeys !== options.storedViolatesMatchLabelKeys
  if (hasMergedRules) validateLabelKeys(keys, [], constraint.labelSelector, check)
  else validateKeysApartFromSelector(check.at('matchLabelKeys').or([]), constraint.labelSelector)
}

/** For pods whose keys are merged into the selector on create: a key may stand in the selector once, put there by the merge. */
export function validateLabelKeys(
  matchKeys: readonly string[],
  mismatchKeys: readonly string[],
  selector: V1LabelSelector | undefined,
  check: Check<V1TopologySpreadConstraint | V1PodAffinityTerm>,
): void {
  if (matchKeys.length === 0 && mismatchKeys.length === 0) return
  validateKeyNames(matchKeys, selector, check.at('matchLabelKeys'))
  validateKeyNames(mismatchKeys, selector, check.dynamic('mismatchLabelKeys'))
  const seen = new Set(Object.keys(selector?.matchLabels ?? {}))
  const lastOf = new Map(matchKeys.map((key, index) => [key, index]))
  for (const { key } of selector?.matchExpressions ?? []) {
    const index = lastOf.get(key)
    if (index !== undefined && seen.has(key))
      check.with(matchKeys).at(index).invalid('exists in both matchLabelKeys and labelSelector', key)
    seen.add(key)
  }
  const mismatched = new Set(mismatchKeys)
  for (const [index, key] of matchKeys.entries()) {
    if (!mismatched.has(key)) continue
    check.at('matchLabelKeys').at(index).invalid('exists in both matchLabelKeys and mismatchLabelKeys', key)
  }
}

function validateKeyNames(
  keys: readonly string[],
  selector: V1LabelSelector | undefined,
  check: Check<readonly string[] | undefined>,
): void {
  if (keys.length === 0) return
  if (selector === undefined) {
    check.forbidden('must not be specified when labelSelector is not set')
    return
  }
  check.with(keys).each((key) => mustBe(qualifiedName, key))
}

function validateKeysApartFromSelector(check: Check<readonly string[]>, selector: V1LabelSelector | undefined): void {
  const keys = check.value
  if (keys.length === 0) return
  if (selector === undefined) check.forbidden('must not be specified when labelSelector is not set')
  const ofSelector = new Set(Object.keys(selector?.matchLabels ?? {}))
  for (const { key } of selector?.matchExpressions ?? []) ofSelector.add(key)
  for (const at of check.items()) {
    const key = at.value
    mustBe(qualifiedName, at)
    if (ofSelector.has(key)) at.invalid('exists in both matchLabelKeys and labelSelector')
  }
}

/** Whether an update must let such selectors pass, because the stored spec already has them. */
export function hasInvalidSpreadSelector(constraints: readonly V1TopologySpreadConstraint[]): boolean {
  const check = new Check()
  for (const constraint of constraints) validateLabelSelector(check.with(constraint.labelSelector))
  return check.failed
}

/** Whether the stored keys break the rules of merged (or unmerged) keys. */
export function violatesMatchLabelKeys(constraints: readonly V1TopologySpreadConstraint[], areMerged: boolean): boolean {
  const check = new Check(constraints)
  for (const at of check.items()) {
    const { matchLabelKeys = [], labelSelector } = at.value
    if (areMerged) validateLabelKeys(matchLabelKeys, [], labelSelector, at)
    else validateKeysApartFromSelector(at.at('matchLabelKeys').or([]), labelSelector)
  }
  return check.failed
}
