import { statefulSetResource } from '#api/apps/v1/stateful-set.ts'
import type { V1StatefulSet } from '#api/apps/v1/types.gen.ts'
import { defaultStatefulSet } from '#api/apps/v1beta1/stateful-set.ts'
import type { V1beta1StatefulSet } from '#api/apps/v1beta1/types.gen.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import { writeTypes } from '#api/schema/written-types.ts'

const typeName = writeTypes({
  package: 'io.k8s.api.apps.v1alpha1',
  group: 'apps',
  version: 'v1alpha1',
  text: `
kind PetSet
  spec Spec @.PetSetSpec o 2
  status Status @.PetSetStatus o 3
PetSetSpec like apps.v1beta1.StatefulSetSpec
PetSetStatus like apps.v1beta1.StatefulSetStatus
`,
})

/** What stateful sets were called at first. */
export const petSetResource = legacyVersion<V1beta1StatefulSet, V1StatefulSet>(statefulSetResource, {
  version: 'v1alpha1',
  kind: 'PetSet',
  plural: 'petsets',
  shortNames: [],
  categories: [],
  schema: typeName('PetSet'),
  deprecated: { deprecatedIn: '1.5', removedIn: '1.5' },
  defaultPropagation: 'Orphan',
  defaults: defaultStatefulSet,
})
