import { PodTemplate } from '#api/core/v1/kinds.gen.ts'
import { selectorLabelsText } from '#api/core/v1/labels-text.ts'
import { containerImagesCell, containerNamesCell } from '#api/core/v1/pod-spec/columns.ts'
import { defaultPodTemplate } from '#api/core/v1/pod-spec/defaults.ts'
import { dropDisabledFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { podValidationOptions, validatePodTemplate } from '#api/core/v1/pod-spec/validate-pod-template.ts'
import { podTemplateWarnings } from '#api/core/v1/pod-spec/warnings.ts'
import { nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { defineResource } from '#api/resource.ts'

export const podTemplateResource = defineResource(PodTemplate, {
  allowUnconditionalUpdate: true,
  returnsDeletedObject: true,

  defaults(object) {
    object.template ??= { spec: { containers: [] } }
    defaultPodTemplate(object.template)
  },

  prepareForCreate: ({ template }, context) => dropDisabledFields(template, undefined, context),
  validate({ template }, check, context) {
    if (template) validatePodTemplate(check.at('template').present, podValidationOptions(template, undefined, context))
  },
  warningsOnCreate: ({ template }) => podTemplateWarnings(template, undefined, 'template'),

  generation: (next, prev) => !equalityOf(PodTemplate).at('template')(next.template, prev.template),
  prepareForUpdate: (next, prev, context) => dropDisabledFields(next.template, prev.template, context),
  validateUpdate(next, prev, check, context) {
    const { template } = next
    if (template) validatePodTemplate(check.at('template').present, podValidationOptions(template, prev.template, context))
  },
  warningsOnUpdate: (next, prev) =>
    next.metadata.generation === prev.metadata.generation ? [] : podTemplateWarnings(next.template, prev.template, 'template'),

  columns: [
    nameColumn,
    {
      name: 'Containers',
      type: 'string',
      description: 'Names of each container in the template.',
      cell: ({ template }) => containerNamesCell(template?.spec),
    },
    {
      name: 'Images',
      type: 'string',
      description: 'Images referenced by each container in the template.',
      cell: ({ template }) => containerImagesCell(template?.spec),
    },
    {
      name: 'Pod Labels',
      type: 'string',
      description: 'The labels for the pod template.',
      cell: ({ template }) => selectorLabelsText(template?.metadata?.labels),
    },
  ],
})
