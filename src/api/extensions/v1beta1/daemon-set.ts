import { daemonSetResource as daemonSetV1, templateGenerationAnnotation } from '#api/apps/v1/daemon-set.ts'
import type { V1DaemonSet } from '#api/apps/v1/types.gen.ts'
import { defaultFromTemplateLabels } from '#api/apps/v1beta1/template-labels.ts'
import type { V1beta1DaemonSet } from '#api/extensions/v1beta1/types.gen.ts'
import { setAnnotation, takeInteger } from '#api/meta/annotations.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'

export const daemonSetResource = legacyVersion<V1beta1DaemonSet, V1DaemonSet>(daemonSetV1, {
  group: 'extensions',
  version: 'v1beta1',
  schema: 'io.k8s.api.extensions.v1beta1.DaemonSet',
  shortNames: [],
  categories: [],
  deprecated: { deprecatedIn: '1.8', removedIn: '1.16' },
  defaultPropagation: 'Orphan',

  defaults(daemonSet) {
    defaultFromTemplateLabels(daemonSet)
    if (daemonSet.spec === undefined) return
    daemonSet.spec.updateStrategy ??= {}
    daemonSet.spec.updateStrategy.type ||= 'OnDelete'
  },
  toStored(daemonSet) {
    daemonSet.metadata ??= {}
    const { templateGeneration = 0, ...spec } = daemonSet.spec ?? {}
    setAnnotation(daemonSet.metadata, templateGenerationAnnotation, String(templateGeneration))
    return { ...daemonSet, spec } as V1DaemonSet
  },
  fromStored(daemonSet) {
    const templateGeneration = takeInteger(daemonSet.metadata, templateGenerationAnnotation)
    const { spec } = daemonSet
    return (templateGeneration === undefined ? daemonSet : { ...daemonSet, spec: { ...spec, templateGeneration } }) as V1beta1DaemonSet
  },
})
