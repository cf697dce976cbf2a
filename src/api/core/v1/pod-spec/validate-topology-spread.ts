/** Judges how pods want to be spread over a cluster. */
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import type { V1TopologySpreadConstraint } from '#api/core/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { validateLabelSelector } from '#api/meta/labels.ts'
import { mustBe, qualifiedName } from '#api/meta/names.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'

const mustBePositive = 'must be greater than zero'
const actions = ['DoNotSchedule', 'ScheduleAnyway']
const policies = ['Honor', 'Ignore']

/** `check` stands at the list. */
export function validateTopologySpread(
  constraints: readonly V1TopologySpreadConstraint[],
  check: Check,
  options: PodValidationOptions,
): void {
  for (const [index, constraint] of constraints.entries()) {
    const { maxSkew = 0, topologyKey = '', whenUnsatisfiable = '', minDomains } = constraint
    const at = check.at(index)
    if (maxSkew <= 0) at.at('maxSkew').invalid(maxSkew, mustBePositive)
    if (topologyKey === '') at.at('topologyKey').required('can not be empty')
    if (!actions.includes(whenUnsatisfiable)) at.at('whenUnsatisfiable').notSupported(whenUnsatisfiable, actions)
    const isSame = (other: V1TopologySpreadConstraint) =>
      (other.topologyKey ?? '') === topologyKey && (other.whenUnsatisfiable ?? '') === whenUnsatisfiable
    if (constraints.slice(index + 1).some(isSame)) {
      at.at('{topologyKey, whenUnsatisfiable}').duplicate(`{${topologyKey}, ${whenUnsatisfiable}}`)
    }
    if (minDomains !== undefined) validateMinDomains(minDomains, whenUnsatisfiable, at.at('minDomains'))
    for (const field of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      const policy = constraint[field]
      if (policy !== undefined && !policies.includes(policy)) at.at(field).notSupported(policy, policies)
    }
    validateMatchLabelKeys(constraint, at, options)
    if (!options.allowInvalidTopologySpreadSelector) validateLabelSelector(constraint.labelSelector, at.at('labelSelector'))
  }
}

function validateMinDomains(minDomains: number, action: string, check: Check): void {
  if (minDomains <= 0) check.invalid(minDomains, mustBePositive)
  if (action !== 'DoNotSchedule') {
    check.invalid(minDomains, `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`)
  }
}

function validateMatchLabelKeys(constraint: V1TopologySpreadConstraint, check: Check, options: PodValidationOptions): void {
  const keys = constraint.matchLabelKeys ?? []
  const hasMergedRules = options.allowMatchLabelKeys && options.mergeMatchLabelKeys !== options.storedViolatesMatchLabelKeys
  if (hasMergedRules) validateLabelKeys(keys, [], constraint.labelSelector, check)
  else validateKeysApartFromSelector(keys, constraint.labelSelector, check.at('matchLabelKeys'))
}

/** For pods whose keys are merged into the selector on create: a key may stand in the selector once, put there by the merge. */
export function validateLabelKeys(
  matchKeys: readonly string[],
  mismatchKeys: readonly string[],
  selector: V1LabelSelector | undefined,
  check: Check,
): void {
  if (matchKeys.length === 0 && mismatchKeys.length === 0) return
  validateKeyNames(matchKeys, selector, check.at('matchLabelKeys'))
  validateKeyNames(mismatchKeys, selector, check.at('mismatchLabelKeys'))
  const seen = new Set(Object.keys(selector?.matchLabels ?? {}))
  for (const { key } of selector?.matchExpressions ?? []) {
    const index = matchKeys.lastIndexOf(key)
    if (index >= 0 && seen.has(key)) check.at(index).invalid(key, 'exists in both matchLabelKeys and labelSelector')
    seen.add(key)
  }
  for (const [index, key] of matchKeys.entries()) {
    if (!mismatchKeys.includes(key)) continue
    check.at('matchLabelKeys').at(index).invalid(key, 'exists in both matchLabelKeys and mismatchLabelKeys')
  }
}

function validateKeyNames(keys: readonly string[], selector: V1LabelSelector | undefined, check: Check): void {
  if (keys.length === 0) return
  if (selector === undefined) {
    check.forbidden('must not be specified when labelSelector is not set')
    return
  }
  for (const [index, key] of keys.entries()) mustBe(qualifiedName, key, check.at(index))
}

function validateKeysApartFromSelector(keys: readonly string[], selector: V1LabelSelector | undefined, check: Check): void {
  if (keys.length === 0) return
  if (selector === undefined) check.forbidden('must not be specified when labelSelector is not set')
  const ofSelector = new Set(Object.keys(selector?.matchLabels ?? {}))
  for (const { key } of selector?.matchExpressions ?? []) ofSelector.add(key)
  for (const [index, key] of keys.entries()) {
    mustBe(qualifiedName, key, check.at(index))
    if (ofSelector.has(key)) check.at(index).invalid(key, 'exists in both matchLabelKeys and labelSelector')
  }
}

/** Whether an update must let such selectors pass, because the stored spec already has them. */
export function hasInvalidSpreadSelector(constraints: readonly V1TopologySpreadConstraint[]): boolean {
  const check = new Check()
  for (const constraint of constraints) validateLabelSelector(constraint.labelSelector, check)
  return check.failed
}

/** Whether the stored keys break the rules of merged (or unmerged) keys. */
export function violatesMatchLabelKeys(constraints: readonly V1TopologySpreadConstraint[], areMerged: boolean): boolean {
  const check = new Check()
  for (const { matchLabelKeys = [], labelSelector } of constraints) {
    if (areMerged) validateLabelKeys(matchLabelKeys, [], labelSelector, check)
    else validateKeysApartFromSelector(matchLabelKeys, labelSelector, check)
  }
  return check.failed
}
