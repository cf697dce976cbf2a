import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { V1ResourceClaim } from '#api/resource/v1/types.gen.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

/** Certain not to run any more. */
export const isDone = (pod: V1Pod): boolean => isPodFinished(pod) || (isDeleting(pod) && !pod.spec.nodeName)

export const isReservedFor = ({ status }: V1ResourceClaim, { metadata }: V1Pod): boolean =>
  (status?.reservedFor ?? []).some(({ uid }) => uid === metadata.uid)
