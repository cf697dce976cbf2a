import { DeviceClass } from '#api/resource/v1/device-class.ts'
import { ResourceClaim } from '#api/resource/v1/resource-claim.ts'
import { ResourceClaimTemplate } from '#api/resource/v1/resource-claim-template.ts'
import { ResourceSlice } from '#api/resource/v1/resource-slice.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const resourceV1: readonly ResourceDefinition[] = [DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice]
