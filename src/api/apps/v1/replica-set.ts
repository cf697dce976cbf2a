import { ReplicaSet } from '#api/apps/v1/kinds.gen.ts'
import type { V1ReplicaSet, V1ReplicaSetSpec, V1ReplicaSetStatus } from '#api/apps/v1/types.gen.ts'
import { containersColumn, imagesColumn, selectorColumn } from '#api/apps/v1/workload-columns.ts'
import { mustNotExceedReplicas } from '#api/apps/v1/workload-status.ts'
import { scaleOfReplicas, validateReplicatedTemplate, warningsForPodNames } from '#api/apps/v1/workload-template.ts'
import { defaultPodTemplate } from '#api/core/v1/pod-spec/defaults.ts'
import { dropDisabledFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { type PodValidationOptions, podValidationOptions } from '#api/core/v1/pod-spec/validate-pod-template.ts'
import { podTemplateWarnings } from '#api/core/v1/pod-spec/warnings.ts'
import type { V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { defineResource } from '#api/resource.ts'

export const replicaSetResource = defineResource(ReplicaSet, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',

  defaults(replicaSet) {
    replicaSet.spec ??= {} as V1ReplicaSetSpec
    const { spec } = replicaSet
    spec.template ??= { spec: { containers: [] } }
    defaultPodTemplate(spec.template)
    spec.replicas ??= 1
  },

  prepareForCreate(replicaSet, context) {
    dropDisabledFields(templateOf(replicaSet), undefined, context)
  },
  validate: ({ spec }, check, context) => validateSpec(check.at('spec'), podValidationOptions(spec.template, undefined, context)),
  warningsOnCreate: (replicaSet) => [
    ...warningsForPodNames(replicaSet.metadata),
    ...podTemplateWarnings(templateOf(replicaSet), undefined, 'spec.template'),
  ],

  generation: 'spec',
  prepareForUpdate(next, prev, context) {
    dropDisabledFields(templateOf(next), prev.spec.template, context)
  },
  validateUpdate(next, prev, check, context) {
    validateSpec(check.at('spec'), podValidationOptions(next.spec.template, prev.spec.template, context))
    if (context.requestVersion === 'extensions/v1beta1') return
    mustNotChange(
      check.at('spec').at('selector'),
      prev.spec.selector,
      equalityOf(ReplicaSet).at('spec').at('selector'),
      '*meta.LabelSelector',
    )
  },
  warningsOnUpdate: (next, prev) =>
    next.metadata.generation === prev.metadata.generation ? [] : podTemplateWarnings(templateOf(next), prev.spec.template, 'spec.template'),

  subresources: {
    status: {
      prepareForUpdate(next, prev, { isEnabled }) {
        if (!isEnabled('DeploymentReplicaSetTerminatingReplicas') && prev.status?.terminatingReplicas === undefined) {
          delete next.status?.terminatingReplicas
        }
      },
      validateUpdate: (_next, _prev, check) => validateStatus(check.at('status').or({ replicas: 0 })),
    },
    scale: scaleOfReplicas,
  },

  columns: [
    nameColumn,
    { name: 'Desired', type: 'integer', description: { field: 'ReplicaSetSpec.replicas' }, cell: ({ spec }) => spec.replicas ?? 0 },
    { name: 'Current', type: 'integer', description: { field: 'ReplicaSetStatus.replicas' }, cell: ({ status }) => status?.replicas ?? 0 },
    {
      name: 'Ready',
      type: 'integer',
      description: { field: 'ReplicaSetStatus.readyReplicas' },
      cell: ({ status }) => status?.readyReplicas ?? 0,
    },
    ageColumn,
    containersColumn(({ spec }) => spec.template?.spec),
    imagesColumn(({ spec }) => spec.template?.spec),
    selectorColumn('ReplicaSetSpec.selector', ({ spec }) => spec.selector),
  ],
})

/** Defaults see to it that there is one. */
function templateOf({ spec }: V1ReplicaSet): V1PodTemplateSpec {
  return spec.template ?? { spec: { containers: [] } }
}

function validateSpec(check: Check<V1ReplicaSetSpec>, options: PodValidationOptions): void {
  nonNegative(check.at('replicas'))
  nonNegative(check.at('minReadySeconds'))
  validateReplicatedTemplate(check, options)
}

function validateStatus(check: Check<V1ReplicaSetStatus>): void {
  const status = check.value
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status
  nonNegative(check.at('replicas').or(0))
  nonNegative(check.at('fullyLabeledReplicas').or(0))
  nonNegative(check.at('readyReplicas').or(0))
  nonNegative(check.at('availableReplicas').or(0))
  nonNegative(check.at('observedGeneration'))
  nonNegative(check.at('terminatingReplicas'))
  mustNotExceedReplicas(check, replicas, ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'])
  if (availableReplicas > readyReplicas) check.at('availableReplicas').or(0).invalid('cannot be greater than readyReplicas')
}
