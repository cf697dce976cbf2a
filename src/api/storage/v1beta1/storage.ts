import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { csiDriverResource } from '#api/storage/v1/csi-driver.ts'
import { csiNodeResource } from '#api/storage/v1/csi-node.ts'
import { csiStorageCapacityResource } from '#api/storage/v1/csi-storage-capacity.ts'
import { storageClassResource } from '#api/storage/v1/storage-class.ts'
import { volumeAttachmentResource } from '#api/storage/v1/volume-attachment.ts'
import { volumeAttributesClassResource } from '#api/storage/v1beta1/volume-attributes-class.ts'

const version = 'v1beta1'

export const storageV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(csiDriverResource, { version, deprecated: { deprecatedIn: '1.19', removedIn: '1.22' } }),
  legacyVersion(csiNodeResource, { version, deprecated: { deprecatedIn: '1.17', removedIn: '1.22' } }),
  legacyVersion(csiStorageCapacityResource, { version, deprecated: { deprecatedIn: '1.24', removedIn: '1.27' } }),
  legacyVersion(storageClassResource, { version, deprecated: { deprecatedIn: '1.19', removedIn: '1.22' } }),
  legacyVersion(volumeAttachmentResource, { version, deprecated: { deprecatedIn: '1.19', removedIn: '1.22' } }),
  volumeAttributesClassResource,
]
