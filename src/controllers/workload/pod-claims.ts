/** The claims behind a pod's volumes. */

import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolumeClaim, V1Pod } from '#api/core/v1/types.gen.ts'
import { isControlledBy } from '#api/meta/owner-references.ts'
import { keyOf, objectKey } from '#client/informer/object-store.ts'
import type { Cache } from '#controllers/runtime/cache.ts'

/** Names of the claims of a pod's volumes; that of an ephemeral volume is named after the pod. */
export function claimsOfPod({ metadata, spec }: V1Pod): string[] {
  const names: string[] = []
  for (const { name, persistentVolumeClaim, ephemeral } of spec.volumes ?? []) {
    if (persistentVolumeClaim) names.push(persistentVolumeClaim.claimName)
    else if (ephemeral) names.push(ephemeralClaimName(metadata.name ?? '', name))
  }
  return names
}

export const ephemeralClaimName = (pod: string, volume: string): string => `${pod}-${volume}`

/** The claim was made for one of the pod's ephemeral volumes, and does not only have its name. */
export const isClaimOfPod = (pod: V1Pod, claim: V1PersistentVolumeClaim): boolean =>
  isControlledBy(claim, pod) &&
  (pod.spec.volumes ?? []).some(
    ({ name, ephemeral }) => ephemeral && ephemeralClaimName(pod.metadata.name ?? '', name) === claim.metadata.name,
  )

const index = 'volume claim'

export function indexPodsByClaim(cache: Cache): void {
  cache.addIndex(Pod, index, (pod) => claimsOfPod(pod).map((name) => objectKey(pod.metadata.namespace ?? '', name)))
}

/** Those that name it, finished or not; the index is to be there. */
export const podsOfClaim = (claim: V1PersistentVolumeClaim, cache: Cache): readonly V1Pod[] => cache.byIndex(Pod, index, keyOf(claim))
export const podsOfClaimKey = (key: string, cache: Cache): readonly V1Pod[] => cache.byIndex(Pod, index, key)
