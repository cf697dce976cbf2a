import { leaseResource } from '#api/coordination/v1/lease.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const coordinationV1: readonly ResourceDefinition[] = [leaseResource]
