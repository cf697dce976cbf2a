import { leaseCandidateResource } from '#api/coordination/v1alpha2/lease-candidate.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const coordinationV1alpha2: readonly ResourceDefinition[] = [leaseCandidateResource]
