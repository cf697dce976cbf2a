/** Differs from v1 in name only, except for the rules for taints, which v1 does not have yet. */
import { sameShape } from '#api/meta/same-shape.ts'
import { DeviceClass as DeviceClassV1 } from '#api/resource/v1/device-class.ts'
import { ResourceClaim as ResourceClaimV1 } from '#api/resource/v1/resource-claim.ts'
import { ResourceClaimTemplate as ResourceClaimTemplateV1 } from '#api/resource/v1/resource-claim-template.ts'
import { ResourceSlice as ResourceSliceV1 } from '#api/resource/v1/resource-slice.ts'
import { DeviceTaintRule } from '#api/resource/v1beta2/device-taint-rule.ts'
import type {
  V1beta2DeviceClass,
  V1beta2ResourceClaim,
  V1beta2ResourceClaimTemplate,
  V1beta2ResourceSlice,
} from '#api/resource/v1beta2/types.gen.ts'
import { defineResource, type ResourceDefinition } from '#api/resource.ts'

const version = 'v1beta2'
const stability = 'beta'

export const DeviceClass = defineResource<V1beta2DeviceClass>({
  ...DeviceClassV1,
  version,
  stability,
  schema: 'io.k8s.api.resource.v1beta2.DeviceClass',
  storedAs: sameShape(DeviceClassV1, version),
})

export const ResourceClaim = defineResource<V1beta2ResourceClaim>({
  ...ResourceClaimV1,
  version,
  stability,
  schema: 'io.k8s.api.resource.v1beta2.ResourceClaim',
  storedAs: sameShape(ResourceClaimV1, version),
})

export const ResourceClaimTemplate = defineResource<V1beta2ResourceClaimTemplate>({
  ...ResourceClaimTemplateV1,
  version,
  stability,
  schema: 'io.k8s.api.resource.v1beta2.ResourceClaimTemplate',
  storedAs: sameShape(ResourceClaimTemplateV1, version),
})

export const ResourceSlice = defineResource<V1beta2ResourceSlice>({
  ...ResourceSliceV1,
  version,
  stability,
  schema: 'io.k8s.api.resource.v1beta2.ResourceSlice',
  storedAs: sameShape(ResourceSliceV1, version),
})

export const resourceV1beta2: readonly ResourceDefinition[] = [
  DeviceClass,
  DeviceTaintRule,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
]
