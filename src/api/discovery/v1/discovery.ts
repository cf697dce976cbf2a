import { endpointSliceResource } from '#api/discovery/v1/endpoint-slice.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const discoveryV1: readonly ResourceDefinition[] = [endpointSliceResource]
