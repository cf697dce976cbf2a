import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { CSIStorageCapacity } from '#api/storage/v1/csi-storage-capacity.ts'
import { VolumeAttachment } from '#api/storage/v1/volume-attachment.ts'
import { VolumeAttributesClass } from '#api/storage/v1/volume-attributes-class.ts'

const version = 'v1alpha1'

export const storageV1alpha1: readonly ResourceDefinition[] = [
  legacyVersion(CSIStorageCapacity, { version, deprecated: { deprecatedIn: '1.21', removedIn: '1.24' } }),
  legacyVersion(VolumeAttachment, { version, deprecated: { deprecatedIn: '1.21', removedIn: '1.24' } }),
  legacyVersion(VolumeAttributesClass, { version, deprecated: { deprecatedIn: '1.32', removedIn: '1.35' } }),
]
