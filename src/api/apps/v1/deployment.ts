import { intOrPercentValue, mustBePositiveIntOrPercent, mustNotExceed100Percent } from '#api/apps/v1/int-or-percent.ts'
import { Deployment } from '#api/apps/v1/kinds.gen.ts'
import type {
  V1Deployment,
  V1DeploymentSpec,
  V1DeploymentStatus,
  V1DeploymentStrategy,
  V1RollingUpdateDeployment,
} from '#api/apps/v1/types.gen.ts'
import { containersColumn, imagesColumn, selectorColumn } from '#api/apps/v1/workload-columns.ts'
import { mustNotBeDecremented, mustNotExceedReplicas } from '#api/apps/v1/workload-status.ts'
import { scaleOfReplicas, validateReplicatedTemplate, warningsForPodNames } from '#api/apps/v1/workload-template.ts'
import { defaultPodTemplate } from '#api/core/v1/pod-spec/defaults.ts'
import { dropDisabledFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { type PodValidationOptions, podValidationOptions } from '#api/core/v1/pod-spec/validate-pod-template.ts'
import { podTemplateWarnings } from '#api/core/v1/pod-spec/warnings.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource } from '#api/resource.ts'

const same = equalityOf(Deployment)

const rollbackAnnotation = 'deprecated.deployment.rollback.to'

/** The versions from before selectors were final. */
const selectorMayChange = ['extensions/v1beta1', 'apps/v1beta1']

export const deploymentResource = defineResource(Deployment, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',

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
    dropDisabledFields(deployment.spec.template, undefined, context)
  },
  validate({ metadata, spec }, check, context) {
    validateSpec(check.at('spec'), podValidationOptions(spec.template, undefined, context))
    validateRollback(metadata.annotations?.[rollbackAnnotation], check)
  },
  warningsOnCreate: ({ metadata, spec }) => [
    ...warningsForPodNames(metadata),
    ...podTemplateWarnings(spec.template, undefined, 'spec.template'),
  ],

  // Replica sets copy the annotations, hence they count as well.
  generation: (next, prev) =>
    !same.at('spec')(next.spec, prev.spec) || !same.at('metadata').at('annotations')(next.metadata.annotations, prev.metadata.annotations),
  prepareForUpdate(next, prev, context) {
    dropDisabledFields(next.spec.template, prev.spec.template, context)
  },
  validateUpdate(next, prev, check, context) {
    validateSpec(check.at('spec'), podValidationOptions(next.spec.template, prev.spec.template, context))
    validateRollback(next.metadata.annotations?.[rollbackAnnotation], check)
    if (selectorMayChange.includes(context.requestVersion ?? '')) return
    mustNotChange(check.at('spec').at('selector'), prev.spec.selector, same.at('spec').at('selector'), '*meta.LabelSelector')
  },
  warningsOnUpdate: (next, prev) =>
    next.metadata.generation === prev.metadata.generation
      ? []
      : podTemplateWarnings(next.spec.template, prev.spec.template, 'spec.template'),

  subresources: {
    status: {
      keepsMetadata: ['labels'],
      prepareForUpdate(next, prev, { isEnabled }) {
        if (!isEnabled('DeploymentReplicaSetTerminatingReplicas') && prev.status?.terminatingReplicas === undefined) {
          delete next.status?.terminatingReplicas
        }
      },
      validateUpdate: (_next, prev, check) => validateStatus(check.at('status').or({}), prev.status),
    },
    scale: scaleOfReplicas,
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

function validateSpec(check: Check<V1DeploymentSpec>, options: PodValidationOptions): void {
  const spec = check.value
  nonNegative(check.at('replicas'))
  validateReplicatedTemplate(check, options)
  validateStrategy(check.at('strategy').or({}))
  nonNegative(check.at('minReadySeconds'))
  nonNegative(check.at('revisionHistoryLimit'))
  const { progressDeadlineSeconds } = spec
  if (progressDeadlineSeconds === undefined) return
  nonNegative(check.at('progressDeadlineSeconds'))
  if (progressDeadlineSeconds <= (spec.minReadySeconds ?? 0)) {
    check.at('progressDeadlineSeconds').invalid('must be greater than minReadySeconds')
  }
}

function validateStrategy(check: Check<V1DeploymentStrategy>): void {
  const strategy = check.value
  switch (strategy.type) {
    case 'Recreate':
      if (strategy.rollingUpdate) check.at('rollingUpdate').forbidden("may not be specified when strategy `type` is 'Recreate'")
      break
    case 'RollingUpdate':
      if (!strategy.rollingUpdate) check.at('rollingUpdate').required('this should be defaulted and never be nil')
      else validateRollingUpdate(check.at('rollingUpdate').present)
      break
    default:
      check.notSupported(['Recreate', 'RollingUpdate'], asInternal('apps.DeploymentStrategy', strategy))
  }
}

function validateRollingUpdate(check: Check<V1RollingUpdateDeployment>): void {
  const { maxUnavailable = 0, maxSurge = 0 } = check.value
  mustBePositiveIntOrPercent(check.at('maxUnavailable').or(0))
  mustBePositiveIntOrPercent(check.at('maxSurge').or(0))
  // With both at zero no pod could ever be replaced.
  if (intOrPercentValue(maxUnavailable) === 0 && intOrPercentValue(maxSurge) === 0) {
    check.at('maxUnavailable').or(0).invalid('may not be 0 when `maxSurge` is 0')
  }
  mustNotExceed100Percent(check.at('maxUnavailable').or(0))
}

/** The field of that name left the API; clients of old versions still set it, and it lives on as an annotation. */
function validateRollback(revision: string | undefined, check: Check<V1Deployment>): void {
  if (revision) nonNegative(check.at('spec').dynamic('rollback').at('version').with(Number(revision)))
}

function validateStatus(check: Check<V1DeploymentStatus>, prev: V1DeploymentStatus | undefined): void {
  const status = check.value
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status
  nonNegative(check.at('observedGeneration'))
  nonNegative(check.at('replicas').or(0))
  nonNegative(check.at('updatedReplicas').or(0))
  nonNegative(check.at('readyReplicas').or(0))
  nonNegative(check.at('availableReplicas').or(0))
  nonNegative(check.at('unavailableReplicas'))
  nonNegative(check.at('terminatingReplicas'))
  nonNegative(check.at('collisionCount'))
  mustNotExceedReplicas(check, replicas, ['updatedReplicas', 'readyReplicas', 'availableReplicas'])
  if (availableReplicas > readyReplicas) check.at('availableReplicas').or(0).invalid('cannot be greater than readyReplicas')
  mustNotBeDecremented(check.at('collisionCount'), prev?.collisionCount)
}
