/** Sysctls a policy speaks of: names, or what names begin with and a star. */
import type { Check } from '#api/meta/check.ts'
import { overlappingSysctls } from '#api/policy/v1beta1/overlapping-sysctls.ts'
import type { V1beta1PodSecurityPolicySpec } from '#api/policy/v1beta1/pod-security-policy-types.ts'

const segment = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const pattern = `(${segment}\\.)*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]`
const regex = new RegExp(`^${pattern}$`)
const maxLength = 253

type Sysctls = Pick<V1beta1PodSecurityPolicySpec, 'allowedUnsafeSysctls' | 'forbiddenSysctls'>

/** `check` stands at the spec. */
export function validateSysctlPatterns(check: Check<Sysctls>): void {
  const { allowedUnsafeSysctls: allowed = [], forbiddenSysctls: forbidden = [] } = check.value
  const [allowedPlace, forbiddenPlace] = [check.at('allowedUnsafeSysctls'), check.at('forbiddenSysctls')]
  validateList(allowed, allowedPlace)
  validateList(forbidden, forbiddenPlace)
  const overlapping = overlappingSysctls(allowed, forbidden)
  allowedPlace.with(allowed).each((item) => {
    // Before it is asked: where all of them overlap, each answer is as long as the other list.
    if (check.isBeyondTelling) return
    const mine = item.value
    for (const index of overlapping(mine)) {
      if (check.isBeyondTelling) return
      const other = forbidden[index] ?? ''
      if (covers(other, mine)) item.invalid(`sysctl overlaps with ${other}`)
      else forbiddenPlace.with(forbidden).at(index).invalid(`sysctl overlaps with ${mine}`)
    }
  })
}

/** Whether all that `part` stands for, `whole` stands for as well. */
function covers(whole: string, part: string): boolean {
  return whole.endsWith('*') ? part.replace(/\*$/, '').startsWith(whole.slice(0, -1)) : whole === part
}

const isPattern = (sysctl: string): boolean => sysctl.length <= maxLength && regex.test(sysctl)

function validateList(sysctls: readonly string[], check: Check<string[] | undefined>): void {
  check.with(sysctls).each((item) => {
    const sysctl = item.value
    if (sysctl === '') item.invalid('empty sysctl not allowed')
    else if (!isPattern(sysctl)) {
      item.invalid(`must have at most ${maxLength} characters and match regex ${pattern}`)
    }
  })
  const coversAll = sysctls.some((sysctl) => sysctl.startsWith('*') && isPattern(sysctl))
  if (coversAll && sysctls.length > 1) check.dynamic('items').forbidden("if '*' is present, must not specify other sysctls")
}
