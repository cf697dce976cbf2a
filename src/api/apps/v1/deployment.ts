import { intOrPercentValue, mustBePositiveIntOrPercent, mustNotExceed100Percent } from '#api/apps/v1/int-or-percent.ts'
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import type { V1DeploymentSpec, V1DeploymentStatus, V1DeploymentStrategy, V1RollingUpdateDeployment } from '#api/apps/v1/types.gen.ts'
import { containersColumn, imagesColumn, selectorColumn } from '#api/apps/v1/workload-columns.ts'
import { mustNotBeDecremented, mustNotExceedReplicas } from '#api/apps/v1/workload-status.ts'
import { selectorText, validateReplicatedTemplate, warningsForPodNames } from '#api/apps/v1/workload-template.ts'
import { defaultPodTemplate } from '#api/core/v1/pod-spec/defaults.ts'
import { dropDisabledFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { type PodValidationOptions, podValidationOptions } from '#api/core/v1/pod-spec/validate-pod-template.ts'
import { podTemplateWarnings } from '#api/core/v1/pod-spec/warnings.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { semanticEqual } from '#api/meta/equality.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { putBack } from '#api/meta/put-back.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'

const rollbackAnnotation = 'deprecated.deployment.rollback.to'

/** The versions from before selectors were final. */
const selectorMayChange = ['extensions/v1beta1', 'apps/v1beta1']

export const deploymentResource = defineResource(Deployment, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  resetFields: ['status'],

  defaults(deployment) {
    deployment.spec ??= {} as V1DeploymentSpec
    const { spec } = deployment
    spec.template ??= { spec: { containers: [] } }
    defaultPodTemplate(spec.template)
    spec.replicas ??= 1
    spec.strategy ??= {}
    defaultStrategy(spec.strategy)
    spec.revisionHistoryLimit ??= 10
    spec.progressDeadlineSeconds ??= 600
  },

  prepareForCreate(deployment, context) {
    delete deployment.status
    dropDisabledFields(deployment.spec.template, undefined, context)
  },
  validate({ metadata, spec }, check, context) {
    validateSpec(spec, check.at('spec'), podValidationOptions(spec.template, undefined, context))
    validateRollback(metadata.annotations?.[rollbackAnnotation], check)
  },
  warningsOnCreate: ({ metadata, spec }) => [
    ...warningsForPodNames(metadata),
    ...podTemplateWarnings(spec.template, undefined, 'spec.template'),
  ],

  // Replica sets copy the annotations, hence they count as well.
  generation: (next, prev) => !semanticEqual(next.spec, prev.spec) || !semanticEqual(next.metadata.annotations, prev.metadata.annotations),
  prepareForUpdate(next, prev, context) {
    putBack(next, prev, 'status')
    dropDisabledFields(next.spec.template, prev.spec.template, context)
  },
  validateUpdate(next, prev, check, context) {
    validateSpec(next.spec, check.at('spec'), podValidationOptions(next.spec.template, prev.spec.template, context))
    validateRollback(next.metadata.annotations?.[rollbackAnnotation], check)
    if (selectorMayChange.includes(context.requestVersion ?? '')) return
    mustNotChange(next.spec.selector, prev.spec.selector, check.at('spec.selector'), '*meta.LabelSelector')
  },
  warningsOnUpdate: (next, prev) =>
    next.metadata.generation === prev.metadata.generation
      ? []
      : podTemplateWarnings(next.spec.template, prev.spec.template, 'spec.template'),

  subresources: {
    status: {
      resetFields: ['spec', 'metadata.labels'],
      prepareForUpdate(next, prev, { isEnabled }) {
        putBack(next, prev, 'spec')
        putBack(next.metadata, prev.metadata, 'labels')
        if (!isEnabled('DeploymentReplicaSetTerminatingReplicas') && prev.status?.terminatingReplicas === undefined) {
          delete next.status?.terminatingReplicas
        }
      },
      validateUpdate: (next, prev, check) => validateStatus(next.status ?? {}, prev.status, check.at('status')),
    },
    scale: {
      replicas: ({ spec }) => spec.replicas ?? 0,
      setReplicas({ spec }, replicas) {
        spec.replicas = replicas
      },
      statusReplicas: ({ status }) => status?.replicas ?? 0,
      selector: ({ spec }) => selectorText(spec.selector),
    },
  },

  columns: [
    nameColumn,
    {
      name: 'Ready',
      type: 'string',
      description: 'Number of the pod with ready state',
      cell: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    },
    {
      name: 'Up-to-date',
      type: 'string',
      description: { field: 'DeploymentStatus.updatedReplicas' },
      cell: ({ status }) => status?.updatedReplicas ?? 0,
    },
    {
      name: 'Available',
      type: 'string',
      description: { field: 'DeploymentStatus.availableReplicas' },
      cell: ({ status }) => status?.availableReplicas ?? 0,
    },
    ageColumn,
    containersColumn(({ spec }) => spec.template.spec),
    imagesColumn(({ spec }) => spec.template.spec),
    selectorColumn('DeploymentSpec.selector', ({ spec }) => spec.selector),
  ],
})

function defaultStrategy(strategy: V1DeploymentStrategy): void {
  strategy.type ||= 'RollingUpdate'
  if (strategy.type !== 'RollingUpdate') return
  strategy.rollingUpdate ??= {}
  strategy.rollingUpdate.maxUnavailable ??= '25%'
  strategy.rollingUpdate.maxSurge ??= '25%'
}

function validateSpec(spec: V1DeploymentSpec, check: Check, options: PodValidationOptions): void {
  nonNegative(spec.replicas, check.at('replicas'))
  validateReplicatedTemplate(spec, check, options)
  validateStrategy(spec.strategy ?? {}, check.at('strategy'))
  nonNegative(spec.minReadySeconds, check.at('minReadySeconds'))
  nonNegative(spec.revisionHistoryLimit, check.at('revisionHistoryLimit'))
  const { progressDeadlineSeconds } = spec
  if (progressDeadlineSeconds === undefined) return
  nonNegative(progressDeadlineSeconds, check.at('progressDeadlineSeconds'))
  if (progressDeadlineSeconds <= (spec.minReadySeconds ?? 0)) {
    check.at('progressDeadlineSeconds').invalid(progressDeadlineSeconds, 'must be greater than minReadySeconds')
  }
}

function validateStrategy(strategy: V1DeploymentStrategy, check: Check): void {
  switch (strategy.type) {
    case 'Recreate':
      if (strategy.rollingUpdate) check.at('rollingUpdate').forbidden("may not be specified when strategy `type` is 'Recreate'")
      break
    case 'RollingUpdate':
      if (!strategy.rollingUpdate) check.at('rollingUpdate').required('this should be defaulted and never be nil')
      else validateRollingUpdate(strategy.rollingUpdate, check.at('rollingUpdate'))
      break
    default:
      check.notSupported(asInternal('apps.DeploymentStrategy', strategy), ['Recreate', 'RollingUpdate'])
  }
}

function validateRollingUpdate({ maxUnavailable = 0, maxSurge = 0 }: V1RollingUpdateDeployment, check: Check): void {
  mustBePositiveIntOrPercent(maxUnavailable, check.at('maxUnavailable'))
  mustBePositiveIntOrPercent(maxSurge, check.at('maxSurge'))
  // With both at zero no pod could ever be replaced.
  if (intOrPercentValue(maxUnavailable) === 0 && intOrPercentValue(maxSurge) === 0) {
    check.at('maxUnavailable').invalid(maxUnavailable, 'may not be 0 when `maxSurge` is 0')
  }
  mustNotExceed100Percent(maxUnavailable, check.at('maxUnavailable'))
}

/** The field of that name left the API; clients of old versions still set it, and it lives on as an annotation. */
function validateRollback(revision: string | undefined, check: Check): void {
  if (revision) nonNegative(Number(revision), check.at('spec.rollback.version'))
}

function validateStatus(status: V1DeploymentStatus, prev: V1DeploymentStatus | undefined, check: Check): void {
  const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0, collisionCount } = status
  nonNegative(status.observedGeneration, check.at('observedGeneration'))
  nonNegative(replicas, check.at('replicas'))
  nonNegative(updatedReplicas, check.at('updatedReplicas'))
  nonNegative(readyReplicas, check.at('readyReplicas'))
  nonNegative(availableReplicas, check.at('availableReplicas'))
  nonNegative(status.unavailableReplicas, check.at('unavailableReplicas'))
  nonNegative(status.terminatingReplicas, check.at('terminatingReplicas'))
  nonNegative(collisionCount, check.at('collisionCount'))
  mustNotExceedReplicas(replicas, { updatedReplicas, readyReplicas, availableReplicas }, check)
  if (availableReplicas > readyReplicas) check.at('availableReplicas').invalid(availableReplicas, 'cannot be greater than readyReplicas')
  mustNotBeDecremented(collisionCount, prev?.collisionCount, check.at('collisionCount'))
}
