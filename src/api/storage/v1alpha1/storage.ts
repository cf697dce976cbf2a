import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { csiStorageCapacityResource } from '#api/storage/v1/csi-storage-capacity.ts'
import { volumeAttachmentResource } from '#api/storage/v1/volume-attachment.ts'
import { volumeAttributesClassResource } from '#api/storage/v1/volume-attributes-class.ts'

const version = 'v1alpha1'

export const storageV1alpha1: readonly ResourceDefinition[] = [
  legacyVersion(csiStorageCapacityResource, { version, deprecated: { deprecatedIn: '1.21', removedIn: '1.24' } }),
  legacyVersion(volumeAttachmentResource, { version, deprecated: { deprecatedIn: '1.21', removedIn: '1.24' } }),
  legacyVersion(volumeAttributesClassResource, { version, deprecated: { deprecatedIn: '1.32', removedIn: '1.35' } }),
]
