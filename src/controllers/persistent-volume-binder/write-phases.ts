/** What the binder writes into the status of claims and volumes. */

import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim, V1PersistentVolumeClaimStatus } from '#api/core/v1/types.gen.ts'
import { preResizeCapacity } from '#api/core/v1/volume/volume-annotations.ts'
import { compareQuantities, isQuantity } from '#api/meta/quantity.ts'
import { defined } from '#base/defined.ts'
import { writeStatus } from '#controllers/kit/write-status.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'

type PhaseEvent = { type: 'Normal' | 'Warning'; reason: string; message: string }
type Writes = Pick<ReconcileContext, 'client' | 'events'>

/** Writes the phase; the event is told with a change alone. */
export async function writeVolumePhase(
  volume: V1PersistentVolume,
  phase: 'Available' | 'Bound' | 'Released' | 'Failed',
  { client, events }: Writes,
  event?: PhaseEvent,
): Promise<V1PersistentVolume> {
  if (volume.status?.phase === phase) return volume
  const { message: _, ...before } = volume.status ?? {}
  const status = { ...before, phase, ...defined({ message: event?.message }) }
  const written = await client.updateStatus(PersistentVolume, { ...volume, status })
  if (event !== undefined) events.record(PersistentVolume, written, event.type, event.reason, event.message)
  return written
}

/** What a claim without a volume has, or has lost. */
export async function writeUnboundStatus(
  claim: V1PersistentVolumeClaim,
  phase: 'Pending' | 'Lost',
  { client, events }: Writes,
  event?: PhaseEvent,
): Promise<void> {
  const isChange = claim.status?.phase !== phase
  if (event !== undefined && !isChange) return
  const { accessModes: _, capacity: __, currentVolumeAttributesClassName: ___, ...rest } = claim.status ?? {}
  const written = await writeStatus(client, PersistentVolumeClaim, claim, { ...rest, phase })
  if (event !== undefined) events.record(PersistentVolumeClaim, written, event.type, event.reason, event.message)
}

export async function writeBoundStatus(claim: V1PersistentVolumeClaim, volume: V1PersistentVolume, { client }: Writes): Promise<void> {
  const before = claim.status ?? {}
  const becomesBound = before.phase !== 'Bound'
  const attributes = before.phase === 'Pending' ? volume.spec.volumeAttributesClassName : before.currentVolumeAttributesClassName
  const { currentVolumeAttributesClassName: _, ...rest } = before
  const status: V1PersistentVolumeClaimStatus = {
    ...rest,
    phase: 'Bound',
    ...defined({ accessModes: volume.spec.accessModes, currentVolumeAttributesClassName: attributes }),
    // Later the claim's may be another: the file system has yet to grow.
    ...defined({ capacity: becomesBound ? capacityFor(before, volume) : undefined }),
  }
  await writeStatus(client, PersistentVolumeClaim, claim, status)
}

function capacityFor(before: V1PersistentVolumeClaimStatus, { metadata, spec }: V1PersistentVolume): { [resource: string]: string } {
  const size = spec.capacity?.['storage']
  if (size === undefined) throw new Error(`PersistentVolume "${metadata.name}" is without a storage capacity`)
  const beforeResize = metadata.annotations?.[preResizeCapacity]
  if (beforeResize !== undefined) return { ...before.capacity, storage: isQuantity(beforeResize) ? beforeResize : size }
  const known = before.capacity?.['storage']
  if (before.capacity !== undefined && known !== undefined && compareQuantities(known, size) === 0) return before.capacity
  return { ...spec.capacity }
}
