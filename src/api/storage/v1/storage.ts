import type { ResourceDefinition } from '#api/resource.ts'
import { csiDriverResource } from '#api/storage/v1/csi-driver.ts'
import { csiNodeResource } from '#api/storage/v1/csi-node.ts'
import { csiStorageCapacityResource } from '#api/storage/v1/csi-storage-capacity.ts'
import { storageClassResource } from '#api/storage/v1/storage-class.ts'
import { volumeAttachmentResource } from '#api/storage/v1/volume-attachment.ts'
import { volumeAttributesClassResource } from '#api/storage/v1/volume-attributes-class.ts'

export const storageV1: readonly ResourceDefinition[] = [
  csiDriverResource,
  csiNodeResource,
  csiStorageCapacityResource,
  storageClassResource,
  volumeAttachmentResource,
  volumeAttributesClassResource,
]
