import { apiServiceResource } from '#api/apiregistration/v1/api-service.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const apiregistrationV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(apiServiceResource, { version: 'v1beta1', deprecated: { deprecatedIn: '1.19', removedIn: '1.22' } }),
]
