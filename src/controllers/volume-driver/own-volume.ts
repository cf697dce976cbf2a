import { PersistentVolume } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { attachedVolume } from '#api/core/v1/volume/migrated-volume.ts'
import { provisionedBy } from '#api/core/v1/volume/volume-annotations.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import type { VolumeDriver } from '#controllers/volume-driver/volume-driver.ts'

/** The volume that the claim is bound to, if it is one of the driver's. */
export function ownVolumeOf(
  claim: V1PersistentVolumeClaim,
  { name, nodeName }: VolumeDriver,
  cache: Cache,
): V1PersistentVolume | undefined {
  if (claim.status?.phase !== 'Bound' || !claim.spec.volumeName) return undefined
  const volume = cache.get(PersistentVolume, '', claim.spec.volumeName)
  if (volume === undefined || volume.spec.claimRef?.uid !== claim.metadata.uid) return undefined
  const isOurs = (attachedVolume(volume.spec, volume.metadata.labels)?.driver ?? volume.metadata.annotations?.[provisionedBy]) === name
  return isOurs && (nodeName === undefined || isOnlyOn(volume, nodeName)) ? volume : undefined
}

const hostnameLabel = 'kubernetes.io/hostname'

/** The volume can be reached from that node and no other. */
export function isOnlyOn({ spec }: V1PersistentVolume, nodeName: string): boolean {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? []
  return terms.some(({ matchExpressions = [], matchFields = [] }) =>
    [...matchExpressions, ...matchFields].some(
      ({ key, values = [] }) => (key === hostnameLabel || key === 'metadata.name') && values.length === 1 && values[0] === nodeName,
    ),
  )
}
