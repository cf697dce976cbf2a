/** Volumes that have to be attached to a node before it can use them: those of CSI drivers, unless the driver says otherwise. */

import { createHash } from 'node:crypto'
import type { V1PersistentVolume } from '#api/core/v1/types.gen.ts'
import { attachedVolume } from '#api/core/v1/volume/migrated-volume.ts'
import { CSIDriver } from '#api/storage/v1/kinds.gen.ts'
import type { Cache } from '#controllers/runtime/cache.ts'

/** What nodes call the volume: the same for all volumes that stand for the same thing. */
export function uniqueNameOf({ spec, metadata }: V1PersistentVolume): string | undefined {
  const source = attachedVolume(spec, metadata.labels)
  return source === undefined ? undefined : `kubernetes.io/csi/${source.driver}^${source.handle}`
}

export const needsAttaching = (driver: string, cache: Cache): boolean => cache.get(CSIDriver, '', driver)?.spec.attachRequired !== false

/** One volume on one node has one attachment, whoever makes it. */
export function attachmentName(handle: string, driver: string, nodeName: string): string {
  return `csi-${createHash('sha256').update(`${handle}${driver}${nodeName}`).digest('hex')}`
}

/** Nobody knows what a volume without access modes can do: its driver will say. */
export function maySeveralNodesHave({ spec }: V1PersistentVolume): boolean {
  const modes = spec.accessModes ?? []
  return modes.length === 0 || modes.includes('ReadWriteMany') || modes.includes('ReadOnlyMany')
}
