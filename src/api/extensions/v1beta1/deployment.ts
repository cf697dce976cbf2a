import { deploymentResource as deploymentV1 } from '#api/apps/v1/deployment.ts'
import type { V1Deployment } from '#api/apps/v1/types.gen.ts'
import { rollbackFromAnnotation, rollbackToAnnotation } from '#api/apps/v1beta1/convert-rollback.ts'
import { defaultFromTemplateLabels } from '#api/apps/v1beta1/template-labels.ts'
import type { V1beta1Deployment } from '#api/extensions/v1beta1/types.gen.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'

/** As long as there is one: what had no limit has the largest. */
const unlimited = 2 ** 31 - 1

export const deploymentResource = legacyVersion<V1beta1Deployment, V1Deployment>(deploymentV1, {
  group: 'extensions',
  version: 'v1beta1',
  schema: 'io.k8s.api.extensions.v1beta1.Deployment',
  shortNames: [],
  categories: [],
  deprecated: { deprecatedIn: '1.8', removedIn: '1.16' },
  defaultPropagation: 'Orphan',
  scaleKind: { group: 'extensions', version: 'v1beta1', kind: 'Scale', schema: 'io.k8s.api.extensions.v1beta1.Scale' },
  actions: {
    rollback: {
      group: 'extensions',
      version: 'v1beta1',
      kind: 'DeploymentRollback',
      schema: 'io.k8s.api.extensions.v1beta1.DeploymentRollback',
    },
  },

  defaults(deployment) {
    defaultFromTemplateLabels(deployment)
    const { spec } = deployment
    if (spec === undefined) return
    spec.strategy ??= {}
    spec.strategy.type ||= 'RollingUpdate'
    if (spec.strategy.type === 'RollingUpdate' || spec.strategy.rollingUpdate !== undefined) {
      spec.strategy.rollingUpdate ??= {}
      spec.strategy.rollingUpdate.maxUnavailable ??= 1
      spec.strategy.rollingUpdate.maxSurge ??= 1
    }
    spec.progressDeadlineSeconds ??= unlimited
    spec.revisionHistoryLimit ??= unlimited
  },
  toStored: rollbackToAnnotation,
  fromStored: rollbackFromAnnotation,
})
