/** Kubernetes' words for how a volume may be used, in CSI's. */
import { csiAccessMode } from '#wire/csi/access-mode.ts'
import type { VolumeCapability } from '#wire/csi/csi-types.ts'

export type CapabilityRequest = {
  isBlock: boolean
  accessMode: string
  fsType: string
  mountFlags: readonly string[]
  /** The driver tells one writer from several on the same node. */
  tellsWritersApart: boolean
  mountGroup?: string
}

export function volumeCapability({
  isBlock,
  accessMode,
  fsType,
  mountFlags,
  tellsWritersApart,
  mountGroup = '',
}: CapabilityRequest): VolumeCapability {
  const mode = { mode: csiAccessMode(accessMode, tellsWritersApart) }
  if (isBlock) return { block: {}, accessMode: mode }
  return { mount: { fsType, mountFlags: [...mountFlags], volumeMountGroup: mountGroup }, accessMode: mode }
}
