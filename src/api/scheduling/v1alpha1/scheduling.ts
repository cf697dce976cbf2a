import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { priorityClassResource } from '#api/scheduling/v1/priority-class.ts'
import { writeTypes } from '#api/schema/written-types.ts'

const typeName = writeTypes({
  package: 'io.k8s.api.scheduling.v1alpha1',
  group: 'scheduling.k8s.io',
  version: 'v1alpha1',
  text: 'kind PriorityClass like scheduling.v1beta1',
})

export const schedulingV1alpha1: readonly ResourceDefinition[] = [
  legacyVersion(priorityClassResource, {
    version: 'v1alpha1',
    schema: typeName('PriorityClass'),
    deprecated: { deprecatedIn: '1.14', removedIn: '1.23' },
  }),
]
