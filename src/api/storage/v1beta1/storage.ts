import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { CSIDriver } from '#api/storage/v1/csi-driver.ts'
import { CSINode } from '#api/storage/v1/csi-node.ts'
import { CSIStorageCapacity } from '#api/storage/v1/csi-storage-capacity.ts'
import { StorageClass } from '#api/storage/v1/storage-class.ts'
import { VolumeAttachment } from '#api/storage/v1/volume-attachment.ts'
import { VolumeAttributesClass } from '#api/storage/v1beta1/volume-attributes-class.ts'

const version = 'v1beta1'

export const storageV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(CSIDriver, { version, deprecated: { deprecatedIn: '1.19', removedIn: '1.22' } }),
  legacyVersion(CSINode, { version, deprecated: { deprecatedIn: '1.17', removedIn: '1.22' } }),
  legacyVersion(CSIStorageCapacity, { version, deprecated: { deprecatedIn: '1.24', removedIn: '1.27' } }),
  legacyVersion(StorageClass, { version, deprecated: { deprecatedIn: '1.19', removedIn: '1.22' } }),
  legacyVersion(VolumeAttachment, { version, deprecated: { deprecatedIn: '1.19', removedIn: '1.22' } }),
  VolumeAttributesClass,
]
