import { Check, type FieldError } from '#api/meta/check.ts'
import {
  compareLevels,
  isSameLevelVersion,
  type Level,
  type LevelVersion,
  latest,
  levelFault,
  parseLevel,
  parseVersion,
  versionFault,
} from '#apiserver/admission/pod-security/level-version.ts'

export const modes = ['enforce', 'audit', 'warn'] as const
export type Mode = (typeof modes)[number]
export type Policy = Readonly<Record<Mode, LevelVersion>>

export const labelPrefix = 'pod-security.kubernetes.io/'

type Labels = Readonly<Record<string, string>> | undefined

/** What the labels of a namespace ask for; the defaults where they are silent. A policy is given even when labels are wrong. */
export function policyOf(labels: Labels, defaults: Policy): { policy: Policy; errors: FieldError[] } {
  const check = new Check({ metadata: { labels } })
  const policy: Record<Mode, LevelVersion> = { ...defaults }
  if (labels === undefined) return { policy, errors: check.errors }
  let isEnforceSet = false
  for (const mode of modes) {
    const [levelLabel, versionLabel] = [labelPrefix + mode, `${labelPrefix}${mode}-version`]
    const [levelText, versionText] = [labels[levelLabel], labels[versionLabel]]
    let { level, minor } = defaults[mode]
    if (levelText !== undefined) {
      const parsed = parseLevel(levelText)
      if (parsed === undefined) check.at('metadata').at('labels').key(levelLabel).invalid(levelFault, levelText)
      else if (mode === 'enforce') isEnforceSet = true
      level = parsed ?? safest(mode)
    }
    if (versionText !== undefined) {
      const parsed = parseVersion(versionText)
      if (parsed === undefined) check.at('metadata').at('labels').key(versionLabel).invalid(versionFault, versionText)
      minor = parsed ?? latest
    }
    policy[mode] = { level, minor }
  }
  // Who enforces more than the default wants to be warned of as much.
  const isWarnSet = labels[`${labelPrefix}warn`] !== undefined
  if (isEnforceSet && !isWarnSet && compareLevels(policy.enforce.level, policy.warn.level) > 0) {
    const hasOwnVersion = labels[`${labelPrefix}warn-version`] !== undefined
    policy.warn = { level: policy.enforce.level, minor: hasOwnVersion ? policy.warn.minor : policy.enforce.minor }
  }
  return { policy, errors: check.errors }
}

/** What cannot be read is enforced as the strictest, and not worth a word elsewhere. */
const safest = (mode: Mode): Level => (mode === 'enforce' ? 'restricted' : 'privileged')

export const isFullyPrivileged = (policy: Policy): boolean => modes.every((mode) => policy[mode].level === 'privileged')

/** Versions of the privileged level make no difference. */
export function isEquivalent(one: Policy, other: Policy): boolean {
  return modes.every(
    (mode) => (one[mode].level === 'privileged' && other[mode].level === 'privileged') || isSameLevelVersion(one[mode], other[mode]),
  )
}
