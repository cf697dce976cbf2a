import type { ResourceDefinition } from '#api/resource.ts'
import { CSIDriver } from '#api/storage/v1/csi-driver.ts'
import { CSINode } from '#api/storage/v1/csi-node.ts'
import { CSIStorageCapacity } from '#api/storage/v1/csi-storage-capacity.ts'
import { StorageClass } from '#api/storage/v1/storage-class.ts'
import { VolumeAttachment } from '#api/storage/v1/volume-attachment.ts'
import { VolumeAttributesClass } from '#api/storage/v1/volume-attributes-class.ts'

export const storageV1: readonly ResourceDefinition[] = [
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
]
