import { deviceClassResource } from '#api/resource/v1/device-class.ts'
import { resourceClaimResource } from '#api/resource/v1/resource-claim.ts'
import { resourceClaimTemplateResource } from '#api/resource/v1/resource-claim-template.ts'
import { resourceSliceResource } from '#api/resource/v1/resource-slice.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const resourceV1: readonly ResourceDefinition[] = [
  deviceClassResource,
  resourceClaimResource,
  resourceClaimTemplateResource,
  resourceSliceResource,
]
