import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'
import { VolumeAttributesClass as VolumeAttributesClassV1 } from '#api/storage/v1/volume-attributes-class.ts'
import type { V1beta1VolumeAttributesClass } from '#api/storage/v1beta1/types.gen.ts'

export const VolumeAttributesClass = defineResource<V1beta1VolumeAttributesClass>({
  ...VolumeAttributesClassV1,
  version: 'v1beta1',
  schema: 'io.k8s.api.storage.v1beta1.VolumeAttributesClass',
  stability: 'beta',
  storedAs: sameShape(VolumeAttributesClassV1, 'v1beta1'),
})
