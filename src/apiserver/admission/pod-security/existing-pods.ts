import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { reasonsText, violations } from '#apiserver/admission/pod-security/checks.ts'
import { type LevelVersion, levelVersionText } from '#apiserver/admission/pod-security/level-version.ts'
import type { Clock } from '#base/clock.ts'

const mostPods = 3000
const patienceMs = 1000

/** Which pods of the namespace could not be made any more under the new level, as warnings. */
export function warningsOfExisting(
  namespace: string,
  pods: readonly V1Pod[],
  enforce: LevelVersion,
  { clock, isExempt }: { clock: Clock; isExempt(runtimeClass: string | undefined): boolean },
): string[] {
  const inOrder = onePerControllerFirst(pods.filter(({ spec }) => !isExempt(spec.runtimeClassName)))
  const byReason = new Map<string, string[]>()
  const deadline = clock.monotonic() + patienceMs
  let checked = 0
  for (const { spec, metadata } of inOrder.slice(0, mostPods)) {
    const reasons = reasonsText(violations(enforce, spec, metadata))
    if (reasons !== '') byReason.set(reasons, [...(byReason.get(reasons) ?? []), metadata.name ?? ''])
    checked++
    if (clock.monotonic() > deadline) break
  }
  const isPartial = checked < inOrder.length
  const partial = `new PodSecurity enforce level only checked against the first ${checked} of ${inOrder.length} existing pods`
  const summary = `existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${levelVersionText(enforce)}"`
  return [
    ...(isPartial ? [partial] : []),
    ...(byReason.size > 0 ? [summary] : []),
    ...[...byReason].map(([reasons, names]) => `${podsText(names)}: ${reasons}`).sort(),
  ]
}

/** Pods of one controller are alike: the first of each tells most. */
function onePerControllerFirst(pods: readonly V1Pod[]): V1Pod[] {
  const seen = new Set<string>()
  const first: V1Pod[] = []
  const others: V1Pod[] = []
  for (const pod of pods) {
    const uid = controllerOf(pod)?.uid
    if (uid === undefined || !seen.has(uid)) first.push(pod)
    else others.push(pod)
    if (uid !== undefined) seen.add(uid)
  }
  return [...first, ...others]
}

function podsText(names: readonly string[]): string {
  const first = names.toSorted()[0] ?? ''
  if (names.length === 1) return first
  return `${first} (and ${names.length === 2 ? '1 other pod' : `${names.length - 1} other pods`})`
}
