/** Differs from v1 in name only, except for the rules for taints, which v1 does not have yet. */

import { sameShape } from '#api/meta/same-shape.ts'
import { deviceClassResource as deviceClassV1 } from '#api/resource/v1/device-class.ts'
import { resourceClaimResource as resourceClaimV1 } from '#api/resource/v1/resource-claim.ts'
import { resourceClaimTemplateResource as resourceClaimTemplateV1 } from '#api/resource/v1/resource-claim-template.ts'
import { resourceSliceResource as resourceSliceV1 } from '#api/resource/v1/resource-slice.ts'
import { deviceTaintRuleResource } from '#api/resource/v1beta2/device-taint-rule.ts'
import { DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice } from '#api/resource/v1beta2/kinds.gen.ts'
import { defineResource, type ResourceDefinition } from '#api/resource.ts'

const version = 'v1beta2'

const deviceClassResource = defineResource(DeviceClass, {
  ...deviceClassV1,
  storedAs: sameShape(deviceClassV1, version),
})

const resourceClaimResource = defineResource(ResourceClaim, {
  ...resourceClaimV1,
  storedAs: sameShape(resourceClaimV1, version),
})

const resourceClaimTemplateResource = defineResource(ResourceClaimTemplate, {
  ...resourceClaimTemplateV1,
  storedAs: sameShape(resourceClaimTemplateV1, version),
})

const resourceSliceResource = defineResource(ResourceSlice, {
  ...resourceSliceV1,
  storedAs: sameShape(resourceSliceV1, version),
})

export const resourceV1beta2: readonly ResourceDefinition[] = [
  deviceClassResource,
  deviceTaintRuleResource,
  resourceClaimResource,
  resourceClaimTemplateResource,
  resourceSliceResource,
]
