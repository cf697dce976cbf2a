import { leaseResource } from '#api/coordination/v1/lease.ts'
import { leaseCandidateResource } from '#api/coordination/v1beta1/lease-candidate.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const coordinationV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(leaseResource, { version: 'v1beta1', deprecated: { deprecatedIn: '1.19', removedIn: '1.22' } }),
  leaseCandidateResource,
]
