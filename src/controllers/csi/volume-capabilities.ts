/** How a claim or a volume may be used, in CSI's words: one capability for each access mode. */
import type { DriverAbilities } from '#controllers/csi/driver-abilities.ts'
import { csiAccessMode } from '#wire/csi/access-mode.ts'
import type { VolumeCapability } from '#wire/csi/csi-types.ts'

export type CapabilityOptions = { fsType: string; mountFlags: readonly string[]; abilities: Pick<DriverAbilities, 'singleNodeMultiWriter'> }

export function volumeCapabilities(
  { accessModes = [], volumeMode = 'Filesystem' }: { accessModes?: readonly string[]; volumeMode?: string },
  { fsType, mountFlags, abilities }: CapabilityOptions,
): VolumeCapability[] {
  return accessModes.map((mode) => {
    const accessMode = { mode: csiAccessMode(mode, abilities.singleNodeMultiWriter) }
    return volumeMode === 'Block' ? { block: {}, accessMode } : { mount: { fsType, mountFlags: [...mountFlags] }, accessMode }
  })
}
