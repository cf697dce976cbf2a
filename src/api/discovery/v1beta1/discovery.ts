import { endpointSliceResource } from '#api/discovery/v1beta1/endpoint-slice.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const discoveryV1beta1: readonly ResourceDefinition[] = [endpointSliceResource]
