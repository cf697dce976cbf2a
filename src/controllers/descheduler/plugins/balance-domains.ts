/** Which pods have to leave the domains of a topology that have too many, so that the others may have them. */

import type { V1Pod } from '#api/core/v1/types.gen.ts'

/** The pods of a domain; those that go first are last. */
export type Domain = { readonly value: string; pods: V1Pod[] }

export function isBalanced(domains: readonly Domain[], maxSkew: number): boolean {
  const sizes = domains.map(({ pods }) => pods.length)
  return sizes.length === 0 || Math.max(...sizes) - Math.min(...sizes) <= maxSkew
}

/**
 * Compares the smallest with the largest domain, again and again: no domain gives more than brings it to the average or takes more than
 * that, and no two that are within `maxSkew` of each other exchange anything. `preferred` puts those last in a domain that can be moved.
 */
export function podsToMove(domains: readonly Domain[], maxSkew: number, preferred: (pods: V1Pod[]) => V1Pod[]): V1Pod[] {
  const sorted = domains.toSorted((one, other) => one.pods.length - other.pods.length)
  const average = domains.reduce((sum, { pods }) => sum + pods.length, 0) / domains.length
  const moved: V1Pod[] = []
  let low = 0
  let high = sorted.length - 1
  while (low < high) {
    const top = sorted[high]
    const bottom = sorted[low]
    if (top === undefined || bottom === undefined) break
    if (top.pods.length <= average) {
      high--
      continue
    }
    const skew = top.pods.length - bottom.pods.length
    const mayGive = Math.ceil(top.pods.length - average)
    const mayTake = Math.ceil(average - bottom.pods.length)
    const count = Math.min(mayGive, mayTake, Math.ceil((skew - maxSkew) / 2))
    if (skew <= maxSkew || count <= 0) {
      low++
      continue
    }
    top.pods = preferred(top.pods)
    const leaving = top.pods.splice(top.pods.length - count, count)
    moved.push(...leaving)
    bottom.pods = [...bottom.pods, ...leaving]
  }
  return moved
}
