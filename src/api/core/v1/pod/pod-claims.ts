/** The resource claims of a pod, by name. */
import type { V1Pod, V1PodResourceClaim } from '#api/core/v1/types.gen.ts'

/** The claim that an entry of a pod's spec stands for. One that was made for the pod must be the pod's own. */
export type NamedClaim = { name: string; isGenerated: boolean }

/** Undefined when the claim is still to be made, null when none is needed. */
export function claimOf(
  { status }: V1Pod,
  { name, resourceClaimName, resourceClaimTemplateName }: V1PodResourceClaim,
): NamedClaim | null | undefined {
  if (resourceClaimName !== undefined) return { name: resourceClaimName, isGenerated: false }
  if (resourceClaimTemplateName === undefined) return null
  const recorded = status?.resourceClaimStatuses?.find((each) => each.name === name)
  if (recorded === undefined) return undefined
  return recorded.resourceClaimName === undefined ? null : { name: recorded.resourceClaimName, isGenerated: true }
}

/** Names of all claims that a pod uses and that are known by now; those the scheduler made for extended resources among them. */
export function claimNamesOf(pod: V1Pod): string[] {
  const named = (pod.spec.resourceClaims ?? []).map((entry) => claimOf(pod, entry)?.name)
  return [...named, pod.status?.extendedResourceClaimStatus?.resourceClaimName].filter((name) => name !== undefined)
}

export const usesClaims = ({ spec, status }: V1Pod): boolean =>
  (spec.resourceClaims ?? []).length > 0 || status?.extendedResourceClaimStatus !== undefined
