/** Which volumes are attached where, or may be: an attachment that somebody has asked for counts until it is gone. */

import { PersistentVolume } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import { attachedVolume } from '#api/core/v1/volume/migrated-volume.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { V1VolumeAttachment } from '#api/storage/v1/types.gen.ts'
import { attachmentName, uniqueNameOf } from '#controllers/attach-detach/attachable-volume.ts'
import type { Cache } from '#controllers/runtime/cache.ts'
import { isDeleting } from '#controllers/workload/pods.ts'

const byVolume = 'volume of attachment'
const byNode = 'node of attachment'

export function indexAttachments(cache: Cache): void {
  cache.addIndex(VolumeAttachment, byVolume, ({ spec }) => (spec.source.persistentVolumeName ? [spec.source.persistentVolumeName] : []))
  cache.addIndex(VolumeAttachment, byNode, ({ spec }) => [spec.nodeName])
}

export const attachmentsOfVolume = (volumeName: string, cache: Cache): readonly V1VolumeAttachment[] =>
  cache.byIndex(VolumeAttachment, byVolume, volumeName)

/** Those that we have asked for, or a process before us: their name tells. What others ask for is theirs to take back. */
export const attachmentsOf = (volumes: readonly V1PersistentVolume[], cache: Cache): V1VolumeAttachment[] =>
  volumes.flatMap((volume) => attachmentsOfVolume(volume.metadata.name ?? '', cache).filter((attachment) => isOurs(attachment, volume)))

function isOurs({ metadata, spec }: V1VolumeAttachment, volume: V1PersistentVolume): boolean {
  const source = attachedVolume(volume.spec, volume.metadata.labels)
  return source !== undefined && metadata.name === attachmentName(source.handle, source.driver, spec.nodeName)
}

/** As far as can be told when the volume is gone. */
export const looksOurs = ({ metadata }: V1VolumeAttachment): boolean => /^csi-[0-9a-f]{64}$/.test(metadata.name ?? '')

export const attachmentsOnNode = (nodeName: string, cache: Cache): readonly V1VolumeAttachment[] =>
  cache.byIndex(VolumeAttachment, byNode, nodeName)

/** The node may use the volume: its driver says so, and nobody has asked it to take it away. */
export const isUsable = (attachment: V1VolumeAttachment): boolean => attachment.status?.attached === true && !isDeleting(attachment)

export function uniqueNameOfAttachment(attachment: V1VolumeAttachment, cache: Cache): string | undefined {
  const volume = cache.get(PersistentVolume, '', attachment.spec.source.persistentVolumeName ?? '')
  return volume !== undefined && isOurs(attachment, volume) ? uniqueNameOf(volume) : undefined
}
