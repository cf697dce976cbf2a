import { apiServiceResource } from '#api/apiregistration/v1/api-service.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const apiregistrationV1: readonly ResourceDefinition[] = [apiServiceResource]
