import { ReplicationController } from '#api/core/v1/kinds.gen.ts'
import { selectorLabelsText } from '#api/core/v1/labels-text.ts'
import { containerImagesCell, containerNamesCell } from '#api/core/v1/pod-spec/columns.ts'
import { defaultPodTemplate } from '#api/core/v1/pod-spec/defaults.ts'
import { dropDisabledFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { type PodValidationOptions, podValidationOptions, validatePodTemplate } from '#api/core/v1/pod-spec/validate-pod-template.ts'
import { podTemplateWarnings } from '#api/core/v1/pod-spec/warnings.ts'
import type { V1PodTemplateSpec, V1ReplicationController, V1ReplicationControllerSpec } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { dns1123Label, nameIsLongName } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { labelSelectorFromMap } from '#api/meta/selector.ts'
import { defineResource } from '#api/resource.ts'

export const replicationControllerResource = defineResource(ReplicationController, {
  storagePath: 'controllers',
  nameRule: nameIsLongName,
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Orphan',

  defaults(controller) {
    controller.spec ??= {}
    const { metadata, spec } = controller
    const { template } = spec
    const labels = template?.metadata?.labels
    if (labels) {
      if (isEmpty(spec.selector)) spec.selector = { ...labels }
      if (isEmpty(metadata.labels)) metadata.labels = { ...labels }
    }
    spec.replicas ??= 1
    if (template) defaultPodTemplate(template)
  },

  prepareForCreate(controller, context) {
    controller.status = { replicas: 0 }
    dropDisabledFields(controller.spec.template, undefined, context)
  },
  validate({ spec }, check, context) {
    validateSpec(check.at('spec'), podValidationOptions(spec.template, undefined, context))
  },
  warningsOnCreate({ metadata, spec }) {
    const messages = dns1123Label(metadata.name ?? '')
    const warnings = messages.length > 0 ? [`${podNameWarning}: [${messages.join(' ')}]`] : []
    return [...warnings, ...podTemplateWarnings(spec.template, undefined, 'spec.template')]
  },

  generation: (next, prev) => !equalityOf(ReplicationController).at('spec')(next.spec, prev.spec),
  prepareForUpdate(next, prev, context) {
    dropDisabledFields(next.spec.template, prev.spec.template, context)
  },
  validateUpdate(next, prev, check, context) {
    validateSpec(check.at('spec'), podValidationOptions(next.spec.template, prev.spec.template, context))
  },
  // The old template is looked at, not the new one: so does upstream.
  warningsOnUpdate: (next, prev) =>
    next.metadata.generation === prev.metadata.generation
      ? []
      : podTemplateWarnings(prev.spec.template, next.spec.template, 'spec.template'),

  columns: [
    nameColumn,
    {
      name: 'Desired',
      type: 'integer',
      description: { field: 'ReplicationControllerSpec.replicas' },
      cell: ({ spec }) => spec.replicas ?? 0,
    },
    {
      name: 'Current',
      type: 'integer',
      description: { field: 'ReplicationControllerStatus.replicas' },
      cell: ({ status }) => status?.replicas ?? 0,
    },
    {
      name: 'Ready',
      type: 'integer',
      description: { field: 'ReplicationControllerStatus.readyReplicas' },
      cell: ({ status }) => status?.readyReplicas ?? 0,
    },
    ageColumn,
    {
      name: 'Containers',
      type: 'string',
      priority: 1,
      description: 'Names of each container in the template.',
      cell: ({ spec }) => containerNamesCell(spec.template?.spec),
    },
    {
      name: 'Images',
      type: 'string',
      priority: 1,
      description: 'Images referenced by each container in the template.',
      cell: ({ spec }) => containerImagesCell(spec.template?.spec),
    },
    {
      name: 'Selector',
      type: 'string',
      priority: 1,
      description: { field: 'ReplicationControllerSpec.selector' },
      cell: ({ spec }) => selectorLabelsText(spec.selector),
    },
  ],
  fieldSelectors: { 'status.replicas': ({ status }) => String(status?.replicas ?? 0) },

  subresources: {
    status: {
      validateUpdate(_next, _prev, check) {
        validateStatus(check.at('status'))
      },
    },
    scale: {
      replicas: ({ spec }) => spec.replicas ?? 0,
      setReplicas({ spec }, replicas) {
        spec.replicas = replicas
      },
      statusReplicas: ({ status }) => status?.replicas ?? 0,
      selector: ({ spec }) => (isEmpty(spec.selector) ? '' : selectorLabelsText(spec.selector)),
    },
  },
})

const podNameWarning =
  'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended'

const isEmpty = (labels: { [key: string]: string } | undefined): boolean => labels === undefined || Object.keys(labels).length === 0

function validateSpec(check: Check<V1ReplicationControllerSpec>, options: PodValidationOptions): void {
  const spec = check.value
  nonNegative(check.at('minReadySeconds'))
  if (isEmpty(spec.selector)) check.at('selector').required()
  if (spec.replicas === undefined) check.at('replicas').required()
  else nonNegative(check.at('replicas'))
  if (spec.template === undefined) check.at('template').required()
  else validateTemplate(check.at('template').present, spec.selector ?? {}, options)
}

function validateTemplate(check: Check<V1PodTemplateSpec>, selector: { [key: string]: string }, options: PodValidationOptions): void {
  const template = check.value
  const labels = template.metadata?.labels
  if (!labelSelectorFromMap(selector).matches(labels)) {
    check.at('metadata').at('labels').invalid('`selector` does not match template `labels`', asInternal('{s', labels))
  }
  validatePodTemplate(check, options)
  const { restartPolicy = '', activeDeadlineSeconds } = template.spec ?? {}
  if (restartPolicy !== 'Always') check.at('spec').at('restartPolicy').notSupported(['Always'], restartPolicy)
  if (activeDeadlineSeconds !== undefined) {
    check.at('spec').at('activeDeadlineSeconds').forbidden('activeDeadlineSeconds in ReplicationController is not Supported')
  }
}

function validateStatus(check: Check<V1ReplicationController['status']>): void {
  const status = check.value
  const { replicas = 0, fullyLabeledReplicas = 0, readyReplicas = 0, availableReplicas = 0, observedGeneration = 0 } = status ?? {}
  nonNegative(check.at('replicas').with(replicas))
  nonNegative(check.at('fullyLabeledReplicas').with(fullyLabeledReplicas))
  nonNegative(check.at('readyReplicas').with(readyReplicas))
  nonNegative(check.at('availableReplicas').with(availableReplicas))
  nonNegative(check.at('observedGeneration').with(observedGeneration))
  const tooMany = 'cannot be greater than status.replicas'
  if (fullyLabeledReplicas > replicas) check.at('fullyLabeledReplicas').invalid(tooMany, fullyLabeledReplicas)
  if (readyReplicas > replicas) check.at('readyReplicas').invalid(tooMany, readyReplicas)
  if (availableReplicas > replicas) check.at('availableReplicas').invalid(tooMany, availableReplicas)
  if (availableReplicas > readyReplicas) check.at('availableReplicas').invalid('cannot be greater than readyReplicas', availableReplicas)
}
