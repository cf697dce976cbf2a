import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { priorityClassResource } from '#api/scheduling/v1/priority-class.ts'

export const schedulingV1beta1: readonly ResourceDefinition[] = [
  legacyVersion(priorityClassResource, { version: 'v1beta1', deprecated: { deprecatedIn: '1.14', removedIn: '1.22' } }),
]
