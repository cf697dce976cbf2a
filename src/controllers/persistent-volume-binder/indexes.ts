/** What the binder finds without looking at everything. */

import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { allowsAccess, classNameOf, matchingVolume } from '#api/core/v1/volume/matching-volume.ts'
import { bindCompleted } from '#api/core/v1/volume/volume-annotations.ts'
import { objectKey } from '#client/informer/object-store.ts'
import type { BinderContext } from '#controllers/persistent-volume-binder/binder-state.ts'
import type { Cache } from '#controllers/runtime/cache.ts'

/** Volumes by the claim they name, and those that may be had by their class. */
export function volumesOfClaims(cache: Cache): void {
  cache.addIndex(PersistentVolume, 'volume claim', ({ spec: { claimRef } }) =>
    claimRef ? [objectKey(claimRef.namespace ?? '', claimRef.name ?? '')] : [],
  )
  cache.addIndex(PersistentVolume, 'available by class', (volume) =>
    volume.spec.claimRef || volume.status?.phase !== 'Available' ? [] : [classNameOf(volume)],
  )
}

/** Claims without a volume by their class, and claims by the volume they name. */
export function unboundClaims(cache: Cache): void {
  cache.addIndex(PersistentVolumeClaim, 'unbound by class', (claim) =>
    claim.metadata.annotations?.[bindCompleted] === undefined ? [classNameOf(claim)] : [],
  )
  cache.addIndex(PersistentVolumeClaim, 'volume name', ({ spec }) => (spec.volumeName ? [spec.volumeName] : []))
}

/** Volumes with fewer access modes go first: those that can do more are for whoever needs it. */
export function bestVolumeFor(
  claim: V1PersistentVolumeClaim,
  reservedOnly: boolean,
  { cache, promises, key }: BinderContext,
): V1PersistentVolume | undefined {
  const reserved = cache.byIndex(PersistentVolume, 'volume claim', key)
  const available = reservedOnly ? [] : cache.byIndex(PersistentVolume, 'available by class', classNameOf(claim))
  if (reserved.length + available.length === 0) return undefined
  const byModes = new Map<string, V1PersistentVolume[]>()
  for (const volume of [...reserved, ...available]) {
    if (!allowsAccess(volume, claim)) continue
    const modes = [...new Set(volume.spec.accessModes)].sort().join(',')
    const alike = byModes.get(modes)
    if (alike === undefined) byModes.set(modes, [volume])
    else alike.push(volume)
  }
  const taken = promises.names(cache)
  for (const modes of [...byModes.keys()].sort(byCount)) {
    const match = matchingVolume(claim, byModes.get(modes) ?? [], { taken, reservedOnly })
    if (match !== undefined) return match
  }
  return undefined
}

const byCount = (one: string, other: string): number => one.split(',').length - other.split(',').length
