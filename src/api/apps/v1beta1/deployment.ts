import { deploymentResource as deploymentV1 } from '#api/apps/v1/deployment.ts'
import type { V1Deployment } from '#api/apps/v1/types.gen.ts'
import { rollbackFromAnnotation, rollbackToAnnotation } from '#api/apps/v1beta1/convert-rollback.ts'
import { defaultFromTemplateLabels } from '#api/apps/v1beta1/template-labels.ts'
import type { V1beta1Deployment } from '#api/apps/v1beta1/types.gen.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'

export const deploymentResource = legacyVersion<V1beta1Deployment, V1Deployment>(deploymentV1, {
  version: 'v1beta1',
  deprecated: { deprecatedIn: '1.8', removedIn: '1.16' },
  defaultPropagation: 'Orphan',
  scaleKind: { group: 'apps', version: 'v1beta1', kind: 'Scale', schema: 'io.k8s.api.apps.v1beta1.Scale' },
  actions: {
    rollback: { group: 'apps', version: 'v1beta1', kind: 'DeploymentRollback', schema: 'io.k8s.api.apps.v1beta1.DeploymentRollback' },
  },
  defaults(deployment) {
    defaultFromTemplateLabels(deployment)
    if (deployment.spec) deployment.spec.revisionHistoryLimit ??= 2
  },
  toStored: rollbackToAnnotation,
  fromStored: rollbackFromAnnotation,
})
