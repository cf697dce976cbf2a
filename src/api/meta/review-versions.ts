import type { Check } from '#api/meta/check.ts'
import { dns1035Label, mustBe } from '#api/meta/names.ts'

/** The versions in which a webhook can be asked. */
export const reviewVersions: readonly string[] = ['v1', 'v1beta1']

export const knowsReviewVersion = (versions: readonly string[]): boolean => versions.some((version) => reviewVersions.includes(version))

/** `check` stands at the list. What is stored already may lack a version that is known. */
export function validateReviewVersions(check: Check<readonly string[]>, mustKnow: boolean, whenEmpty?: string): void {
  const versions = check.value
  if (versions.length === 0) {
    check.required(whenEmpty)
    return
  }
  const seen = new Set<string>()
  check.each((item) => {
    const version = item.value
    if (seen.has(version)) item.invalid('duplicate version')
    else mustBe(dns1035Label, item)
    seen.add(version)
  })
  if (mustKnow && !knowsReviewVersion(versions)) check.invalid(`must include at least one of ${reviewVersions.join(', ')}`)
}
