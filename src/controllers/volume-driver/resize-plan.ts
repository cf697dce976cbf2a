/**
 * How large a volume shall become, and what the claim says of it on the way:
 *
 *     (nothing) ─▶ ControllerResizeInProgress ─▶ NodeResizePending ─▶ (the node) ─▶ (nothing)
 *                        │        ▲
 *                        ▼        │ asked for something else
 *                  ControllerResizeInfeasible
 */
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { capacityOf, sizeOf } from '#api/core/v1/volume/matching-volume.ts'
import { wholeValueOf } from '#api/meta/quantity.ts'

export const resizeStatusOf = ({ status }: V1PersistentVolumeClaim): string | undefined => status?.allocatedResourceStatuses?.['storage']

/** What the driver is to be asked for; undefined when it is nobody's turn, or the node's. */
export function wantedSize(claim: V1PersistentVolumeClaim, volume: V1PersistentVolume): number | undefined {
  const wanted = sizeOf(claim)
  const state = resizeStatusOf(claim)
  const allocated = wholeValueOf(claim.status?.allocatedResources?.['storage'])
  // What has been begun is seen through: only then is it known what the volume has.
  if (state === 'ControllerResizeInProgress' && allocated > 0) return allocated
  if (wanted <= wholeValueOf(claim.status?.capacity?.['storage'])) return undefined
  if (wanted > capacityOf(volume)) return wanted
  // The volume is large enough, and its file system is the node's business.
  return state === 'NodeResizePending' || state === 'NodeResizeInProgress' ? undefined : wanted
}
