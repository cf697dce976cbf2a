import type { ResourceDefinition } from '#api/resource.ts'
import { VolumeAttributesClass } from '#api/storage/v1beta1/volume-attributes-class.ts'

export const storageV1beta1: readonly ResourceDefinition[] = [VolumeAttributesClass]
