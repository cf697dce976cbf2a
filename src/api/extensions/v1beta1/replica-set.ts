import { replicaSetResource as replicaSetV1 } from '#api/apps/v1/replica-set.ts'
import type { V1ReplicaSet } from '#api/apps/v1/types.gen.ts'
import { defaultFromTemplateLabels } from '#api/apps/v1beta1/template-labels.ts'
import type { V1beta1ReplicaSet } from '#api/extensions/v1beta1/types.gen.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'

export const replicaSetResource = legacyVersion<V1beta1ReplicaSet, V1ReplicaSet>(replicaSetV1, {
  group: 'extensions',
  version: 'v1beta1',
  schema: 'io.k8s.api.extensions.v1beta1.ReplicaSet',
  shortNames: [],
  categories: [],
  deprecated: { deprecatedIn: '1.8', removedIn: '1.16' },
  defaultPropagation: 'Orphan',
  scaleKind: { group: 'extensions', version: 'v1beta1', kind: 'Scale', schema: 'io.k8s.api.extensions.v1beta1.Scale' },
  defaults: defaultFromTemplateLabels,
})
