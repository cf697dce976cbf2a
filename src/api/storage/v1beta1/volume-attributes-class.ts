import { sameShape } from '#api/meta/same-shape.ts'
import { defineResource } from '#api/resource.ts'
import { volumeAttributesClassResource as volumeAttributesClassV1 } from '#api/storage/v1/volume-attributes-class.ts'
import { VolumeAttributesClass } from '#api/storage/v1beta1/kinds.gen.ts'

export const volumeAttributesClassResource = defineResource(VolumeAttributesClass, {
  ...volumeAttributesClassV1,
  storedAs: sameShape(volumeAttributesClassV1, 'v1beta1'),
})
