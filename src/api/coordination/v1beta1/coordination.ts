import { LeaseCandidate } from '#api/coordination/v1beta1/lease-candidate.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const coordinationV1beta1: readonly ResourceDefinition[] = [LeaseCandidate]
