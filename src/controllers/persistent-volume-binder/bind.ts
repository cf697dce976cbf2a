/** Both sides of a binding, the volume first: whoever is interrupted in between finds the volume reserved for the claim. */

import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { boundTo } from '#api/core/v1/volume/matching-volume.ts'
import { bindCompleted, boundByController } from '#api/core/v1/volume/volume-annotations.ts'
import { defined } from '#base/defined.ts'
import type { BinderContext } from '#controllers/persistent-volume-binder/binder-state.ts'
import { writeBoundStatus, writeVolumePhase } from '#controllers/persistent-volume-binder/write-phases.ts'

export async function bind(volume: V1PersistentVolume, claim: V1PersistentVolumeClaim, context: BinderContext): Promise<void> {
  const { client, promises } = context
  const promised = await promises.keep(volume.metadata.name ?? '', async () => {
    const named = boundTo(volume, claim)
    const written = named === volume ? volume : await client.update(PersistentVolume, named)
    return writeVolumePhase(written, 'Bound', context)
  })
  const next = namingVolume(claim, promised)
  await writeBoundStatus(next === claim ? claim : await client.update(PersistentVolumeClaim, next), promised, context)
}

function namingVolume(claim: V1PersistentVolumeClaim, { metadata }: V1PersistentVolume): V1PersistentVolumeClaim {
  const isOurs = claim.spec.volumeName !== metadata.name
  const isComplete = claim.metadata.annotations?.[bindCompleted] !== undefined
  if (!isOurs && isComplete) return claim
  const annotations = {
    [bindCompleted]: 'yes',
    ...defined({ [boundByController]: isOurs ? 'yes' : undefined }),
    ...claim.metadata.annotations,
  }
  return {
    ...claim,
    metadata: { ...claim.metadata, annotations },
    spec: { ...claim.spec, ...defined({ volumeName: isOurs ? (metadata.name ?? '') : undefined }) },
  }
}

/** Gives the volume back; one that was reserved by whoever made it stays reserved. */
export async function unbind(volume: V1PersistentVolume, context: BinderContext): Promise<void> {
  const { [boundByController]: isOurs, ...annotations } = volume.metadata.annotations ?? {}
  const { claimRef, ...rest } = volume.spec
  const { uid: _, ...reserved } = claimRef ?? {}
  const next =
    isOurs === undefined
      ? { ...volume, spec: { ...rest, claimRef: reserved } }
      : { ...volume, metadata: { ...volume.metadata, annotations }, spec: rest }
  await writeVolumePhase(await context.client.update(PersistentVolume, next), 'Available', context)
}
