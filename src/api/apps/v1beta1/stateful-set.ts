import { statefulSetResource as statefulSetV1 } from '#api/apps/v1/stateful-set.ts'
import type { V1StatefulSet } from '#api/apps/v1/types.gen.ts'
import { defaultFromTemplateLabels } from '#api/apps/v1beta1/template-labels.ts'
import type { V1beta1StatefulSet } from '#api/apps/v1beta1/types.gen.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'

export const statefulSetResource = legacyVersion<V1beta1StatefulSet, V1StatefulSet>(statefulSetV1, {
  version: 'v1beta1',
  deprecated: { deprecatedIn: '1.8', removedIn: '1.16' },
  defaultPropagation: 'Orphan',
  scaleKind: { group: 'apps', version: 'v1beta1', kind: 'Scale', schema: 'io.k8s.api.apps.v1beta1.Scale' },
  defaults: defaultStatefulSet,
})

/** Also of the pet sets before them: pods were replaced when somebody deleted them, never by themselves. */
export function defaultStatefulSet(statefulSet: V1beta1StatefulSet): void {
  defaultFromTemplateLabels(statefulSet)
  if (statefulSet.spec === undefined) return
  statefulSet.spec.updateStrategy ??= {}
  statefulSet.spec.updateStrategy.type ||= 'OnDelete'
}
